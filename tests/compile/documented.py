"""What tests of documented promises share."""

import warnings

from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    compile_schedule,
)
from warploom.errors import WarploomWarning

CSP = SchedulingStrategy.CSP
GEOMETRY = KernelGeometry.four_wave((256, 256, 64))


def letter(schedule):
    """Compiled by the documented rules, not judged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        return compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="skip")


def pingpong(**knobs):
    config = ScheduleConfig(**{"scheduling": CSP, **knobs})
    return letter(DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4))


def labels(entries):
    return [e.op.label() for e in entries]
