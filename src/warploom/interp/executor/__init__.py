"""The numeric executor: runs a schedule on integer matrices under a chosen timing.

It reads ``warploom.schedule/1`` documents and nothing else, and it shares no code with the
verifier: waves, queues, barriers and shared memory are its own model. A correct schedule gives
A @ B under every timing; a racy one can be made to fail.
"""

from warploom.interp.executor.run import Execution, Trial, execute, sample_matrices
from warploom.interp.executor.timing import (
    Drift,
    Early,
    Late,
    Random,
    Scripted,
    Timing,
    adversaries,
)
