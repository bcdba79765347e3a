"""From measured candidates to a report: predictions before and after, the choice, its timelines.

Runs without a GPU. For every kernel of the results: the candidates are enumerated again, the model
is corrected by the measured cycles a key tile, the corrected body is solved and enumerated, and
measured durations of single ops take the place of the prices in another solve. Writes
``attention_search.md`` and ``attention_search_feed.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from attention_timeline import lane, rotated

from lib.search_store import HELD
from warploom.hopper.candidates import attention_candidates, free_body, program_space
from warploom.hopper.feedback import corrected, feed, rank_correlation
from warploom.hopper.traces import (
    Trace,
    entry_times,
    op_durations,
    product_times,
    timeline,
)
from warploom.order import ModuloOptions, solve_modulo
from warploom.order.calibrate import with_durations

TOP = 8
NOT_MEASURED = {"best": None, "rows": {}}  # a case that was not run


def least(problem, kernel, name):
    """What the solver finds for a body: its interval, all programs there, is the choice one?"""
    result = solve_modulo(problem, ModuloOptions(goals=()))
    found = attention_candidates(kernel, slacks=(0.0,), problem=problem)
    return {
        "ii": result.ii,
        "proven": result.proven,
        "limit": str(result.limit),
        "programs": len(found.found),
        "complete": found.complete,
        "has_choice": name in {c.name for c in found.found},
    }


def measured_durations(kernel, document, data):
    """The trace of a candidate, and durations of its vector ops under the body's names."""
    trace = Trace(
        labels=tuple(data["labels"]),
        stamps=tuple(tuple(tuple(line) for line in lines) for lines in data["stamps"]),
    )
    loop = document.program("consumer").kernel
    common = op_durations(trace, loop)
    names = program_space(kernel).names
    body = {op: common[name] for op, name in names.items() if name in common}
    return trace, loop, body


def kernel_report(entry, store):
    """(facts, markdown lines) of one kernel."""
    kernel, body = store.kernel, free_body(store.kernel)
    full = next(r for r in entry["runs"] if not r["causal"])
    causal = next((r for r in entry["runs"] if r["causal"]), NOT_MEASURED)
    every = attention_candidates(kernel, slacks=tuple(store.facts["slacks"])).found
    facts = {
        "kernel": entry["name"],
        "fastest": {"full": full["best"], "causal": causal["best"]},
        "feedback": {},
        "traces": [],
    }
    lines = _head(entry, store)
    for held in (True, False):
        measured = {
            n.removesuffix(HELD): r["cycles"]
            for n, r in full["rows"].items()
            if r.get("right") and n.endswith(HELD) == held
        }
        if len(measured) > 1:
            found = feedback_of(every, measured, body, store, full["best"])
            facts["feedback"]["held" if held else "as assembled"] = found
            lines += _learnt("With holds" if held else "As the assembler orders them", found)
    lines += _table(full, causal, store, facts["feedback"])
    chosen = next(c for c in every if c.name == full["best"].removesuffix(HELD))
    lines += ["", f"Derived, {full['best']}:", "", *_derived(chosen.result)]
    for data in entry["traces"]:
        if data is not None:
            facts["traces"].append(_trace_facts(kernel, store, data, body, lines))
    return facts, lines


def feedback_of(candidates, measured, body, store, best):
    """What the measurements of one kind of binary say about the model."""
    known = [c for c in candidates if c.name in measured]
    feedback = feed(known, measured, body)
    late = {n.removesuffix(HELD): sum(r["late"]) for n, r in store.rows.items()}
    order = [r.name for r in feedback.rows]
    again = corrected(body, feedback.fit.corrections)
    return {
        "measured": len(measured),
        "fewest_cycles": feedback.chosen,
        "rank_before": feedback.rank_before,
        "rank_late": rank_correlation([late[n] for n in order], [measured[n] for n in order]),
        "rank_after": feedback.rank_after,
        "fit": asdict(feedback.fit),
        "linear": asdict(feedback.linear),
        "resolved": least(again, store.kernel, best.removesuffix(HELD)),
        "rows": [asdict(r) for r in feedback.rows],
    }


def _head(entry, store):
    why = Counter(r["why"].split(" as ")[0] for r in store.facts["refused"])
    dropped = "; ".join(f"{n} {w}" for w, n in why.items())
    return [
        f"## {entry['name']}",
        "",
        "; ".join(entry["claim"])
        + f". Binaries: {store.facts['built']} candidates with and without holds, "
        f"{len(store.rows)} measured, not measured: {dropped or 'none'}.",
        "",
    ]


def _learnt(title, found):
    fit, r = found["fit"]["corrections"], found["resolved"]
    return [
        f"{title}, {found['measured']} measured: rank correlation of predicted with measured cycles"
        f" {found['rank_before']:.2f} by the prices, {found['rank_late']:.2f} with longer vector "
        f"work, {found['rank_after']:.2f} fitted (to the same candidates). Fit: vector work x "
        f"{fit['vector']:.2f}, products {fit['products']:.0f} cycles later, hand-overs "
        f"{fit['turns']:.0f} cycles longer; rms {found['fit']['before']:.0f} to "
        f"{found['fit']['after']:.0f} cycles. Solved again with the fitted costs: interval "
        f"{r['ii']}{', proven' if r['proven'] else ''} ({r['limit']}), {r['programs']} programs"
        f"{', all there are' if r['complete'] else ''}; the fastest is"
        f"{'' if r['has_choice'] else ' not'} among them.",
        "",
    ]


def _table(full, causal, store, feedbacks):
    """The fastest by time, with what was predicted; the shipped one too."""
    predicted = {}
    for kind, found in feedbacks.items():
        tag = HELD if kind == "held" else ""
        predicted.update({r["name"] + tag: r for r in found["rows"]})

    def ratio(run, name):
        row = run["rows"].get(name, {})
        key = "ms" if "ms" in row else "screen_ms"
        return f"{run['rows']['cudnn'][key] / row[key]:.3f}" if key in row else "-"

    times = {n: r["screen_ms"] for n, r in full["rows"].items() if n in predicted}
    names = sorted(times, key=times.get)[:TOP]
    shipped = store.facts["shipped"]
    more = (shipped, f"{shipped}{HELD}", full["best"], causal["best"])
    names += [n for n in dict.fromkeys(more) if n in set(times) - set(names)]
    lines = [
        "| binary | predicted | fitted | cycles | x cuDNN | causal | program |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names:
        r = predicted[name]
        mark = " (shipped)" if name.removesuffix(HELD) == shipped else ""
        lines.append(
            f"| {name}{mark} | {r['before']:.0f} | {r['after']:.0f} | {r['measured']:.0f} | "
            f"{ratio(full, name)} | {ratio(causal, name)} | {store.rows[name]['program']} |"
        )
    again = full["rows"]["cudnn"]["ms"] / full["rows"]["cudnn again"]["ms"]
    return [*lines, "", f"cuDNN again: {again:.3f}. A name ending in h: with holds."]


def _derived(result):
    rows = [f"{u:7s}|{rotated(result, lane(result, u))}|" for u in ("tensor", "mufu", "alu")]
    return ["```text", *rows, "```"]


def _trace_facts(kernel, store, data, body, lines):
    document = store.stamped(data["name"])
    trace, loop, durations = measured_durations(kernel, document, data)
    times = entry_times(trace)
    solved = least(with_durations(body, durations), kernel, data["name"].removesuffix(HELD))
    lines += [
        "",
        f"Traced: {data['name']}, {trace.interval:.0f} cycles a key tile with the clock read after"
        " every entry.",
        "",
        "```text",
        *(f"consumer {i} |{line}|" for i, line in enumerate(timeline(trace))),
        "```",
        "",
        "Median cycles: "
        + ", ".join(f"{n} {t:.0f}" for n, t in zip(trace.labels, times, strict=True) if t >= 1)
        + ". From issue to the wait that retires it: "
        + ", ".join(f"{n} {t:.0f}" for n, t in product_times(trace, loop).items())
        + f". With these durations of vector work the least interval is {solved['ii']}"
        f"{', proven' if solved['proven'] else ''} ({solved['limit']}).",
    ]
    return {
        "name": data["name"],
        "interval": trace.interval,
        "entries": list(zip(trace.labels, times, strict=True)),
        "products": product_times(trace, loop),
        "resolved": solved,
    }


def report(data, opened, out):
    """Write the report of all kernels measured."""
    by_name = {s.facts["name"]: s for s in opened}
    where = data["environment"]
    lines = [
        "# Attention schedules: searched, measured, fed back",
        "",
        "Written by `bench/h200_attention_search.py feed` from the results of `measure`. "
        + ", ".join(f"{k} {v}" for k, v in where.items() if isinstance(v, str))
        + ". All programs of a kernel at its least interval, on "
        "(batch, heads, length) as given in the results; cycles are of one key tile, ends of tiles "
        "included, by the SM's clock. Timelines: 32 cycles a character, small letters consumer 0; "
        "q QK, p PV, m maximum, e exponentials, c conversion, r rescaling, t waiting for a turn.",
        "",
    ]
    facts = []
    for entry in data["kernels"]:
        found, text = kernel_report(entry, by_name[entry["name"]])
        facts.append(found)
        lines += [*text, ""]
        print("\n".join(text), flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "attention_search.md").write_text("\n".join(lines))
    (out / "attention_search_feed.json").write_text(json.dumps(facts, indent=1) + "\n")
