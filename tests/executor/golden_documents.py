"""Recorded schedules, and how to find one by its settings."""

from dataclasses import replace

from tests.recorded import cases, recorded


def ping_pong(name):
    return recorded("pingpong", name)


def four_wave(name, *, epilogue_drain=False):
    found = recorded("fourwave", name)
    return replace(found, protocol=replace(found.protocol, epilogue_drain=epilogue_drain))


def single_buffer(name):
    return recorded("single_buffer", name)


def find_ping_pong(scheduling, max_globals, *, lgkm=None, **options):
    """The first recorded ping-pong case with these settings and otherwise ordinary ones."""
    for name, case in cases("pingpong").items():
        i = case["inputs"]
        config, sched = i["pipeline_config"], i["schedule_config"]
        if (
            sched["scheduling"] == scheduling
            and config["block_sizing"]["max_globals"] == max_globals
            and (lgkm is None or (i["lgkm_a"], i["lgkm_b"]) == lgkm)
            and all(sched.get(k, config.get(k)) == v for k, v in options.items())
        ):
            return name
    raise LookupError((scheduling, max_globals, lgkm, options))
