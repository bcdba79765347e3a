"""The page's Python: what buttons call, JSON in and out. NumPy is not needed for any of it."""

import json
import sys
import types
from dataclasses import replace


class _NoNumPy(types.ModuleType):
    """Stands for NumPy where a module only names it; using it says what is missing."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_args: object, **_named: object) -> None:
            raise ModuleNotFoundError(f"numpy.{name}: NumPy is not part of this page")

        return type(
            name, (), {"__class_getitem__": classmethod(lambda cls, _: cls), "__init__": missing}
        )


for _name in ("numpy", "numpy.typing"):
    _module = _NoNumPy(_name)
    _module.__path__ = []
    sys.modules[_name] = _module
sys.modules["numpy"].typing = sys.modules["numpy.typing"]

import warploom as wl  # noqa: E402 (after its stand-in for NumPy)
from warploom.viz.html import timeline_html  # noqa: E402

EXAMPLES = {
    "4 waves, waits proven weakest": """from warploom import KernelGeometry, Pipeline4Wave

schedule = Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64)))
""",
    "8 waves, ping-pong": """from warploom import DeclarativeSchedule, ScheduleConfig
from warploom import SchedulingStrategy, mi355x_target

config = ScheduleConfig(scheduling=SchedulingStrategy.CSP, auto_waits=True)
schedule = DeclarativeSchedule(config, mi355x_target(4, 4, 1))
""",
    "8 waves, fewest barriers": """from warploom import DeclarativeSchedule, SyncPolicy

schedule = DeclarativeSchedule()
sync = SyncPolicy.PROVEN_FEWEST
""",
    "an error": """from warploom import KernelGeometry, Pipeline4Wave

schedule = Pipeline4Wave(KernelGeometry.four_wave((250, 256, 64)))
""",
}
STATE: dict[str, object] = {}


def examples() -> str:
    return json.dumps(EXAMPLES)


def compiled(source: str) -> str:
    """Run the source, compile its ``schedule``, and remember the document."""
    space: dict[str, object] = {}
    try:
        exec(compile(source, "schedule.py", "exec"), space)
        if "schedule" not in space:
            raise wl.ConfigError("no variable schedule", fix="schedule = ...")  # noqa: TRY301
        made = wl.compile_schedule(space["schedule"], sync=space.get("sync"), on_race="report")
    except Exception as error:  # the visitor's mistakes are shown, whatever they are
        return json.dumps({"error": _parts(error)})
    reasons = {(r.phase.name.lower(), r.index): r.text for r in made.reasons}
    STATE.update(document=made.document(), reasons=reasons, weaker=set())
    return json.dumps(_result())


def weakened(index: int) -> str:
    """Weaken a wait of the loop by one, or take that back."""
    weaker = STATE["weaker"]
    weaker.symmetric_difference_update({int(index)})
    return json.dumps(_result())


def _result() -> dict[str, object]:
    reasons, weaker = STATE["reasons"], STATE["weaker"]
    document = _with_weaker(STATE["document"], weaker)
    report = wl.verify(document)
    sim = wl.simulate(document, wl.chip_costs(document, (256, 256, 64)), trips=4)
    races = report.races()
    witness = ""
    for race in races:
        try:
            witness = wl.witness(document, race).text()
            break
        except wl.WarploomError:
            continue
    waits = [
        {
            "index": i,
            "label": e.op.label(),
            "reason": reasons.get(("kernel", i), ""),
            "weaker": i in weaker,
        }
        for i, e in enumerate(document.kernel)
        if e.op.tag in (wl.ScheduleOps.WAIT_VM, wl.ScheduleOps.WAIT_LGKM)
    ]
    interval = "" if sim.ii is None else f", {sim.ii:g} cycles an iteration"
    return {
        "verdict": report.verdict,
        "summary": f"{document.name}, trip counts {report.trips_proven}{interval}",
        "findings": "\n".join(f"{f.code.value}: {f.why}" for f in report.findings[:4]),
        "witness": witness,
        "waits": waits,
        "page": timeline_html(sim, reasons=reasons, title=document.name),
    }


def _with_weaker(document: object, weaker: set[int]) -> object:
    entries = [
        replace(e, op=replace(e.op, wait_value=e.op.wait_value + 1)) if i in weaker else e
        for i, e in enumerate(document.kernel)
    ]
    return replace(document, kernel=tuple(entries))


def _parts(error: Exception) -> dict[str, str]:
    if isinstance(error, wl.WarploomError):
        return {n: str(getattr(error, n, "") or "") for n in ("what", "where", "why", "fix")}
    return {"what": f"{type(error).__name__}: {error}", "where": "", "why": "", "fix": ""}
