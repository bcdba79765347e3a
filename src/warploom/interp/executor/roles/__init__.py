"""Warp-specialised schedules run literally: barriers that count, copies that land when they like.

It reads ``RolesDocument`` and nothing else and shares no code with the verifier. Barriers count
arrivals and bytes and have one phase bit; copies land, groups retire and register writes settle at
any time; data are names that say what was computed from what. A run either stores what the
document means, or ends in a ``Fault``.

    first_fault(document, (1, 2, 3), range(40))     # None, or what went wrong in a random run
"""

from warploom.interp.executor.roles.agent import meaning
from warploom.interp.executor.roles.machine import Machine
from warploom.interp.executor.roles.memory import Fault, Plan, Values
from warploom.interp.executor.roles.run import first_fault, replay, role_witness
