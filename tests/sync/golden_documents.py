"""Recorded schedules by their short names."""

from dataclasses import replace

from tests.recorded import cases, recorded
from warploom.ir import Counters


def pingpong(name):
    return recorded("pingpong", f"pingpong/{name}")


def fourwave(name):
    return recorded("fourwave", f"fourwave/{name}")


def single_buffer(name):
    """With the units that the hints ask for."""
    full = f"single_buffer/{name}"
    hints = cases("single_buffer")[full]["inputs"].get("hints") or {}
    units = Counters(vm_per_load=(hints.get("a_loads_per_thread", 2) * 2, 4), lgkm_per_load=(4, 4))
    return replace(recorded("single_buffer", full), counters=units)
