"""Is a schedule right for every timing and every trip count?

``verify`` reads a ``warploom.schedule/1`` document and nothing else; it imports no scheduler, no
block builder and no wait derivation, so its verdict shares no assumption with how the schedule was
made. ``witness`` turns a finding into a concrete interleaving.
"""

from warploom.verify.counter_schedules import verify
from warploom.verify.findings import Assumptions, Code, Finding, Limits, Report, Severity
from warploom.verify.report import exit_code, verify_file
from warploom.verify.witness import witness
