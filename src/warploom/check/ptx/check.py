"""``check_ptx``: read, run under several orders, compare, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.axioms import stated
from warploom.check.against import expected
from warploom.check.formats import decode
from warploom.check.launch import Launch
from warploom.check.ptx.machine import Halt
from warploom.check.ptx.matrix import Whole
from warploom.check.ptx.parse import parse
from warploom.check.ptx.program import Program, link
from warploom.check.ptx.results import Findings
from warploom.errors import CheckError, UnsupportedCodeError
from warploom.report import CodeFinding, CodeReport, Verdict

Array = NDArray[Any]
ORDERS = ("forward", "reverse", "random")
MORE_SECONDS = 20.0  # further orders are run while less has been spent
EXTRA_SECONDS = 2.0  # as above, for orders beyond the first three
MOST_ORDERS = 24
MOST_WARPS = 32  # of a CTA
OTHER_SECONDS = 4.0  # runs with an axiom turned off, all together
# Axioms that make findings, and axioms that spare some; the other verdict is given for both.
STRICT = ("late_waiters", "wgmma_per_warp", "warp_wait", "grid_wait")
LENIENT = ("elect_lowest", "war_proxy", "wgmma_rows", "read_done", "writer_fence")
TOLERANCE = {"f32": 2e-3, "f64": 2e-3, "f16": 1e-2, "bf16": 2e-2, "e4m3": 0.13, "e5m2": 0.26}


def check_ptx(
    text: str,
    launch: Launch,
    *,
    axioms: Mapping[str, bool],
    against: Callable[..., Any] | None = None,
    entry: str = "",
    seed: int = 0,
    file: str = "<source>",
    orders: tuple[str, ...] | None = None,
    budget: int = 2_000_000,
    outputs: dict[str, Array] | None = None,
) -> CodeReport:
    """The report on one entry point of a PTX file under one launch.

    ``orders``: schedules to run; by default as many as fit in a few seconds. ``outputs``: filled
    with the tensors after the first run.
    """
    module = parse(text)
    program = link(module, entry or launch.entry)
    launch = _fitting(launch, program)
    findings = Findings()
    ran = bytearray(len(program.instrs))
    used: set[str] = set()
    draws: dict[str, int] = {}
    unsupported, figures = "", {}
    tried: list[str] = []
    valueless: dict[int, str] = {}
    began = time.process_time()
    wanted = list(orders or (ORDERS if axioms["late_waiters"] else ORDERS[:1]))
    complete: set[str] = set()
    for k in range(MOST_ORDERS + MOST_WARPS):
        more = orders is None and axioms["late_waiters"]
        if k >= len(ORDERS) and more:
            kinds = findings.defects()
            if kinds == {"LAPPED"}:  # each late waiter held back: does it hang, or get through?
                held = [f"starve{w}" for w in sorted(findings.lapped)]
                wanted = [*tried, *(o for o in held if o not in tried)]
            elif not kinds and k == len(ORDERS):
                wanted += _more_orders(launch, draws)
        if k >= len(wanted):
            break
        order = wanted[k]
        spent = time.process_time() - began
        few = MORE_SECONDS / (k + 1) if k < len(ORDERS) else EXTRA_SECONDS
        if k and orders is None and spent > few and not findings.lapped:
            break
        machine = Whole(
            module,
            program,
            launch,
            axioms=dict(axioms),
            findings=findings,
            seed=seed,
            order=order,
            budget=budget,
        )
        whole = False
        try:
            machine.prepare()
            machine.run()
            whole = True
            complete.add(order)
        except Halt:
            pass
        except UnsupportedCodeError as error:
            unsupported = str(error)
        tried.append(order)
        ran = bytearray(a | b for a, b in zip(ran, machine.ran, strict=True))
        used |= machine.used
        draws.update(machine.draws)
        if k == 0:
            figures = _figures(machine)
            if outputs is not None:
                outputs.update(_outputs(machine, launch))
        valueless |= machine.valueless
        if whole and against is not None and valueless:
            line, op = next(iter(valueless.items()))
            unsupported = f"{op}: its values are not computed\n  where line {line}"
        elif whole and against is not None:
            _compare(machine, launch, against, findings, seed, order)
        if unsupported:
            break
    if orders is None and {f"starve{w}" for w in findings.lapped} <= complete:
        findings.got_through()
    found = list(findings.found.values())
    stopped = next((f for f in found if f.kind is Verdict.UNSUPPORTED), None)
    if stopped is not None and not unsupported:
        unsupported = f"{stopped.why}\n  where line {stopped.events[0].line}"
    names = _resting(used, program)
    result = CodeReport(
        file=file,
        entry=program.name,
        findings=tuple(_sorted([f for f in found if f.kind is not Verdict.UNSUPPORTED])),
        launches=(f"{launch.described()}; orders: {', '.join(tried)}",),
        assumes=(
            *_assumes(axioms, names, used, draws),
            *(
                f"line {line}: {op}: its values are not computed, its order is"
                for line, op in valueless.items()
            ),
        ),
        never_run=_never_run(program, ran),
        unsupported=unsupported,
        figures=figures,
    )
    if orders is not None or unsupported:
        return result

    def other(name: str) -> CodeReport:
        return check_ptx(
            text,
            launch,
            axioms={**axioms, name: False},
            entry=program.name,
            seed=seed,
            file=file,
            orders=ORDERS[:1],
            budget=budget,
        )

    tried_names = STRICT if result.defects() else LENIENT
    seconds = (time.process_time() - began) / len(tried)
    return _both(result, [n for n in tried_names if n in names and axioms[n]], other, seconds)


def _both(
    made: CodeReport, names: list[str], other: Callable[[str], CodeReport], seconds: float
) -> CodeReport:
    """The report, with the verdict without each axiom where that is another one."""
    for name in names[: int(OTHER_SECONDS / max(seconds, 1e-3))]:
        found = other(name)
        kept = {_key(f) for f in found.findings}
        findings = tuple(
            f if f.axiom or f.kind is Verdict.NOTE or _key(f) in kept else _resting_on(name, f)
            for f in made.findings
        )
        made = replace(made, findings=findings)
        if found.clean == made.clean:  # one order is run here: which defect it shows says little
            continue
        codes = ", ".join(
            f"{f.code} at line{'s' * (len(f.events) > 1)} "
            + " and ".join(str(e.line) for e in f.events[:2])
            for f in found.defects()[:2]
        )
        line = f"{stated(name, on=True)} Turned off, the verdict is {found.verdict.value}"
        line += f" ({codes})." if codes else "."
        rest = tuple(a for a in made.assumes if not a.startswith(f"{name}="))
        without = (*made.without, (name, found.verdict.value))
        made = replace(made, assumes=(line, *rest), without=without)
    return made


def _resting_on(axiom: str, finding: CodeFinding) -> CodeFinding:
    """The finding with the axiom that makes it one; how to fix it, where that follows."""
    if axiom == "late_waiters" and finding.kind is Verdict.DEADLOCK:
        why = f"{finding.why}: a waiter came so late that its phase had passed (see LAPPED)"
        fix = "let the waiter signal after its wait before the next phase completes, or not wait"
        return replace(finding, axiom=axiom, why=why, fix=fix)
    return replace(finding, axiom=axiom)


def _key(finding: CodeFinding) -> tuple[Any, ...]:
    return (finding.kind, finding.code, tuple(e.line for e in finding.events))


def _more_orders(launch: Launch, draws: Mapping[str, int]) -> list[str]:
    """Further orders: each warp held back, and more random ones where control depends on timing."""
    warps = -(-launch.threads // 32)
    result = [f"starve{w}" for w in range(min(warps, 12))] if warps > 1 else []
    if draws:
        result = [*(f"random{i}" for i in range(1, 9)), *result]
    return result


def _fitting(launch: Launch, program: Program) -> Launch:
    """The launch, with the cluster that the file demands; what a driver refuses is an error."""
    asked = program.directives
    wanted = asked.get("reqntid")
    if wanted and (*wanted, 1, 1)[:3] != launch.block:
        raise CheckError(
            f"a block of {launch.block} where the file demands {wanted} (.reqntid)", where="block"
        )
    most = asked.get("maxntid")
    if most and launch.threads > int(np.prod(most)):
        raise CheckError(
            f"{launch.threads} threads where the file allows {int(np.prod(most))} (.maxntid)",
            where="block",
        )
    cluster = asked.get("reqnctapercluster")
    if not cluster:
        return launch
    sizes = (*cluster, 1, 1)[:3]
    if launch.cluster == (1, 1, 1) and sizes != (1, 1, 1):
        launch = replace(launch, cluster=(sizes[0], sizes[1], sizes[2]))
    if launch.cluster != sizes or any(
        g % c for g, c in zip(launch.grid, launch.cluster, strict=True)
    ):
        raise CheckError(
            f"grid {launch.grid}, cluster {launch.cluster} where the file demands a cluster of "
            f"{sizes}",
            where="cluster",
        )
    return launch


def _sorted(found: list[CodeFinding]) -> list[CodeFinding]:
    rank = [Verdict.DEADLOCK, Verdict.RACE, Verdict.INVALID, Verdict.WRONG, Verdict.NOTE]
    return sorted(found, key=lambda f: rank.index(f.kind) if f.kind in rank else 9)


def _resting(used: set[str], program: Program) -> list[str]:
    """The axioms that the verdict rests on, by what the program contains and the run used."""
    heads = {i.parts[0] for i in program.instrs}
    ops = {i.op for i in program.instrs}
    names = []
    if "wgmma" in heads:
        names += ["wgmma_per_warp", "wgmma_rows"]
    if any("mbarrier::complete_tx" in o for o in ops):
        names.append("war_proxy")
    if "mbarrier" in heads:
        names += ["warp_wait", "late_waiters"]
    if "elect" in heads:
        names.append("elect_lowest")
    if "read_done" in used:
        names.append("read_done")
    if "atom" in heads or "red" in heads or "read_done" in used:
        names.append("writer_fence")
    if "griddepcontrol" in heads:
        names.append("grid_wait")
    return [*names, "reconvergence", "progress"]


def _assumes(
    axioms: Mapping[str, bool], names: list[str], used: set[str], draws: Mapping[str, int]
) -> tuple[str, ...]:
    lines = [stated(name, on=axioms[name]) for name in names]
    if "registers" in used:
        lines.append(
            "setmaxnreg: the launch's register count is not known, so register sums are not judged"
        )
    lines += [
        f"draw: {what} ({n} times); several orders were run" for what, n in sorted(draws.items())
    ]
    return tuple(lines)


def _never_run(program: Program, ran: bytearray) -> tuple[str, ...]:
    quiet = ("trap", "brkpt")
    return tuple(
        f"line {i.line}: {' '.join(i.text.split())[:90]}"
        for i, done in zip(program.instrs, ran, strict=True)
        if not done and i.parts[0] not in quiet
    )


def _figures(machine: Whole) -> dict[str, Any]:
    return {
        "warp_instructions": machine.steps,
        "bytes": {k: v for k, v in machine.moved.items() if v},
        "bytes_per_cta": machine.distinct(by_cta=True),
        "bytes_of_memory": machine.distinct(by_cta=False),
        "access_widths": dict(sorted(machine.widths.items())),
    }


def _outputs(machine: Whole, launch: Launch) -> dict[str, Array]:
    result = {}
    for name, t in launch.tensors.items():
        if t.role != "in":
            at = machine.tensor_at[name]
            raw = machine.memory.data[at : at + t.nbytes]
            result[name] = decode(raw, t.dtype).reshape(t.shape)
    return result


def _compare(
    machine: Whole,
    launch: Launch,
    against: Callable[..., Any],
    findings: Findings,
    seed: int,
    order: str,
) -> None:
    """Outputs against a function of the inputs."""
    before = {
        name: decode(raw, launch.tensors[name].dtype).reshape(launch.tensors[name].shape)
        for name, raw in launch.initial(seed).items()
    }
    given = {n: v for n, v in before.items() if launch.tensors[n].role != "out"}
    have = _outputs(machine, launch)
    wanted = expected(against, given, {n: v.shape for n, v in have.items()})
    for name, value in wanted.items():
        difference(name, have[name], value, launch.tensors[name].dtype, findings, order)


def difference(
    name: str, have: Array, want: Array, dtype: str, findings: Findings, order: str
) -> None:
    """A finding where an output is not what it should be."""
    a, b = have.astype(np.float64), want.astype(np.float64)
    if dtype in TOLERANCE:
        scale = np.sqrt(np.mean(np.square(b[np.isfinite(b)]))) if np.isfinite(b).any() else 1.0
        limit = TOLERANCE[dtype] * (np.abs(b) + max(float(scale), 1e-6))
        bad = ~((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b)))
    else:
        bad = a != b
    if not bad.any():
        return
    where = tuple(int(x) for x in np.argwhere(bad)[0])
    findings.add(
        ("wrong", name),
        CodeFinding(
            kind=Verdict.WRONG,
            code="WRONG",
            why=f"{name}{list(where)} is {a[where]:.6g} and should be {b[where]:.6g}; "
            f"{int(bad.sum())} of {bad.size} elements differ (order {order})",
        ),
    )
