"""The ISA gate: does the emitted code carry exactly the schedule?"""

from warploom.emit.gfx950.gate.check import GateReport, check_isa
from warploom.emit.gfx950.gate.expected import Gated
