"""Deliberate deviations: predicates over a case's record, named by deviations.toml.

Each says what the *reference* does with the recorded inputs (reference_rules.py). Nothing here asks
warploom what it would do, so that a rule cannot excuse a mistake of ours. One rule needs the
recorded result as well: where the reference's own search decided the order.
"""

from __future__ import annotations

import tomllib
from copy import deepcopy
from functools import cache
from pathlib import Path

import reference_rules as ref

COMPILED = {"pingpong", "generic_compile", "verify_failures", "single_buffer", "fourwave"}


@cache
def rules():
    text = (Path(__file__).parent / "deviations.toml").read_text()
    return tomllib.loads(text)["rule"]


def covering(family, inputs, outputs=None):
    """The first rule that covers a case, or None."""
    for rule in rules():
        predicate = globals()[rule["predicate"]]
        needs_record = rule.get("reads_result", False)
        if needs_record and outputs is None:
            continue
        if predicate(family, inputs, outputs) if needs_record else predicate(family, inputs):
            return rule
    return None


def instead(rule, inputs):
    """The inputs to compare on when the rule names others, or None."""
    return globals()[rule["instead"]](deepcopy(inputs)) if "instead" in rule else None


# --- what a case asks for ---------------------------------------------------------------------


def called_functions(inputs):
    """Output names a case of the errors family asks for."""
    names = []
    for name in inputs.get("functions_called", ()):
        names += ["asap"] if name == "compute_asap/alap" else [name]
    if "function" in inputs and inputs["function"] != "compile_schedule":
        names.append(_SAME.get(inputs["function"], inputs["function"]))
    return names


_SAME = {"mma_block_interleave": "mma_block_interleave_pipe"}


def _settings(inputs):
    """(strategy, penalty, budget) of a case that compiles."""
    if inputs.get("use_default_config"):
        return "CSP", 0, ref.UNLIMITED
    config = inputs["schedule_config"]
    return config["scheduling"], config["lds_contention_penalty"], config["max_vgpr"]


def _body(family, inputs):
    """(ops, edges) of a case that builds blocks, or None."""
    if family == "program_from_order":
        return inputs["ops"], []
    if "is_fp8" in inputs:
        declared = ref.annotated(ref.pingpong_half(0) + ref.pingpong_half(1), inputs["cost_model"])
        ops = ref.double_buffer_reorder(declared, inputs["pipeline_config"])
        return ops, ref.edges_of(ops, inputs["pipeline_config"])
    if family not in ("generic_compile", "verify_failures"):
        return None
    ops = inputs["body"] if "body" in inputs else inputs["ops"]
    stated = inputs["explicit_edges"] if "explicit_edges" in inputs else inputs.get("edges")
    if stated:
        return ops, [(p, c, d) for p, c, _, d in stated]
    return ops, ref.edges_of(ops, inputs["pipeline_config"])


def _blocks(family, inputs):
    """The reference's blocks, or None where it builds none or its own search decides."""
    found = _body(family, inputs)
    if found is None:
        return None
    ops, edges = found
    if family == "program_from_order":
        return ref.blocks_of(ops, inputs["order"])
    strategy, penalty, budget = _settings(inputs)
    if strategy not in ("CSP", "GREEDY"):
        return ref.blocks_of(ops, range(len(ops)))
    order = ref.greedy(ops, edges)
    if order is None:
        return None
    if strategy == "CSP":
        makespan, peak = ref.price(ops, edges, order, penalty)
        if makespan != ref.stated_bound(ops, edges, penalty) and peak <= budget:
            return None
    return ref.blocks_of(ops, order)


# --- predicates over recorded inputs ----------------------------------------------------------


def manual_wait_is_negative(family, inputs):
    config = inputs.get("schedule_config") or {}
    return config.get("wait_lgkm_first", 0) < 0 or config.get("wait_vm_last", 0) < 0


def register_budget_is_negative(family, inputs):
    return inputs.get("max_vgpr", 0) < 0


def an_op_has_no_price(family, inputs):
    """A declared op whose tag the cost model leaves without unit, latency and role."""
    rows = inputs.get("cost_model")
    if rows is None:
        return False
    priced = {row[0] for row in rows if row[1:] != ref.UNPRICED}
    used = {0, 1, 2, 3} if "hints" in inputs else {0, 1, 3, 4, 5}
    return not used <= priced


def units_disagree(family, inputs):
    """The target states other vm units than the geometry it is used with."""
    if family != "fourwave":
        return False
    names = ("vm_per_load_a", "vm_per_load_b")
    return any(inputs["geometry"][n] != inputs["pipeline_config"][n] for n in names)


def units_of_the_target(inputs):
    for name in ("vm_per_load_a", "vm_per_load_b"):
        inputs["geometry"][name] = inputs["pipeline_config"][name]
    return inputs


def ring_is_deeper_than_two(family, inputs):
    return "is_fp8" in inputs and inputs["pipeline_config"]["depth"] > 2


def two_buffers(inputs):
    inputs["pipeline_config"]["depth"] = 2
    return inputs


def prologue_has_further_stages(family, inputs):
    """A prefetch into a stage above 1, which the reference's prologue leaves out."""
    ops = inputs.get("body") or inputs.get("ops") or ()
    return family in ("generic_compile", "verify_failures", "program_from_order") and any(
        op and op[ref.ROLE] == ref.LOAD and op[ref.K] not in ("K_PREV", "NONE") and op[1] > 1
        for op in ops
    )


def reordering_loses_ops(family, inputs):
    config = inputs.get("pipeline_config")
    if family == "interleave":
        ops = inputs["ops"]
        whole = [ref.interleaved(ops, config, capped=c) for c in (True, False)]
        return any(len(x) < len(ops) for x in (*whole, ref.double_buffer_reorder(ops, config)))
    if family == "reorder":
        return ref.single_buffer_loses(inputs["ops"], config)
    if family == "single_buffer" and "hints" in inputs:
        return config["loop_carried"]["role"] != ref.READ
    if "is_fp8" in inputs:
        return len(_body(family, inputs)[0]) < 24
    return False


def block_slots_overflow(family, inputs):
    blocks = _blocks(family, inputs)
    return blocks is not None and any(len(r) > 2 or len(x) > 2 for r, x, _ in blocks)


def loads_do_not_fit(family, inputs):
    blocks = _blocks(family, inputs)
    cap = (inputs.get("pipeline_config") or {}).get("block_sizing", {}).get("max_globals", 0)
    return blocks is not None and 0 < cap * len(blocks) < sum(len(x) for _, x, _ in blocks)


def redistribution_is_illegal(family, inputs):
    blocks = _blocks(family, inputs)
    config = inputs.get("pipeline_config")
    if blocks is None or config["block_sizing"]["max_globals"] != 1:
        return False
    ops, edges = _body(family, inputs)
    size = max(config["m_mmas"] * config["n_mmas"], 1)
    moved = ref.redistributed(blocks)
    if any(b // size != home // size for b, home in moved.values()):
        return True
    at = {i: (b, 0) for b, (reads, _, _) in enumerate(blocks) for i in reads}
    at |= {i: (b, 1) for b, (_, loads, _) in enumerate(blocks) for i in loads}
    at |= {mma: (b, 2) for b, (_, _, mma) in enumerate(blocks)}
    at |= {load: (b, 1) for load, (b, _) in moved.items()}
    slot = [tuple(op[x] for x in (ref.CHANNEL, ref.STAGE, ref.SUB)) for op in ops]
    for p, c, distance in edges:
        if distance > 0 or not moved.keys() & {p, c}:
            continue
        before, after = at.get(p, (-1, 0)), at.get(c, (len(blocks), 0))
        if before > after or (c in moved and slot[p] == slot[c] and before[0] == after[0]):
            return True
    return False


def seed_breaks_the_register_budget(family, inputs):
    """The reference's greedy seed is over the budget, which its search does not hold against it."""
    if "ops" in inputs and "max_vgpr" in inputs:
        ops, budget = inputs["ops"], inputs["max_vgpr"]
        edges = [(p, c, d) for p, c, _, d in inputs["edges"]]
        seeds = [ref.greedy(ops, edges, parts) for parts in (1, 2)]
    elif "is_fp8" in inputs and _settings(inputs)[0] == "CSP":
        (ops, edges), budget = _body(family, inputs), _settings(inputs)[2]
        seeds = [ref.greedy(ops, edges)]
    else:
        return False
    return budget != ref.UNLIMITED and any(
        seed is not None and ref.price(ops, edges, seed)[1] > budget for seed in seeds
    )


def graph_is_cyclic(family, inputs):
    if "edges" not in inputs or "ops" not in inputs:
        return False
    return ref.greedy(inputs["ops"], [(p, c, d) for p, c, _, d in inputs["edges"]], 1) is None


# --- predicates that read the recorded result -------------------------------------------------


def searched_order_cannot_be_cut(family, inputs, outputs):
    """The order the reference's search chose ends a half in a load, and its kernel is short."""
    if "is_fp8" not in inputs or _settings(inputs)[0] != "CSP" or "kernel" not in outputs:
        return False
    roles = (ref.LOAD, ref.READ, ref.MMA)
    kernel = sorted(e[0] for e in outputs["kernel"] if e[0] and e[0][ref.ROLE] in roles)
    return _blocks(family, inputs) is None and kernel != sorted(outputs["body"])
