"""Deliberate deviations: predicates over a case's inputs, named by deviations.toml.

Each predicate says what the *reference* does with the inputs, worked out here from its documented
rules, so that a rule cannot excuse a mistake of ours.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import families
import forms
from csp_deviations import (
    halves_search_keeps_over_budget_seed,
    plain_search_keeps_over_budget_seed,
)

from warploom.document.kinds import OpRole
from warploom.errors import VerificationError, WarploomError
from warploom.seed.compile import compile_schedule, derive_order
from warploom.seed.config.policy import SchedulePolicy
from warploom.seed.graph.loop_body import LoopBody

COMPILED = {"pingpong", "generic_compile", "verify_failures", "single_buffer", "fourwave"}


def rules():
    text = (Path(__file__).parent / "deviations.toml").read_text()
    return tomllib.loads(text)["rule"]


def covering(family, inputs):
    """The name of the first rule that covers the inputs, or None."""
    for rule in rules():
        try:
            if globals()[rule["predicate"]](family, inputs):
                return rule["name"]
        except WarploomError:
            continue  # inputs this rule cannot even look at
    return None


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


def _schedule(family, inputs):
    if "is_fp8" in inputs:
        return families.pingpong_schedule(inputs)
    return families.Given(inputs)


def _ordered(family, inputs):
    """(ops, order, edges, config) of a case that builds blocks, or None."""
    if family == "program_from_order":
        ops, config = forms.ops(inputs["ops"]), forms.pipeline_config(inputs["pipeline_config"])
        return ops, inputs["order"], [], config
    if family not in ("pingpong", "generic_compile", "verify_failures"):
        return None
    try:
        schedule = _schedule(family, inputs)
        body, config = schedule.build_body(), schedule.config()
        edges = schedule.derive_edges(body)
        policy = SchedulePolicy.of(schedule.schedule_config())
        return body, derive_order(body, edges, config, policy.order).order, edges, config
    except WarploomError:
        return None


def _cut(ops, order):
    """The reference's blocks: (fragments, loads, mma) as indices, cut behind each MMA."""
    blocks, fragments, loads = [], [], []
    for i in order:
        match ops[i].role:
            case OpRole.FRAGMENT_LOAD:
                fragments.append(i)
            case OpRole.GLOBAL_LOAD:
                loads.append(i)
            case OpRole.COMPUTE:
                blocks.append((fragments, loads, i))
                fragments, loads = [], []
    return blocks


# --- predicates -------------------------------------------------------------------------------


def block_slots_overflow(family, inputs):
    case = _ordered(family, inputs)
    if case is None:
        return False
    ops, order, _, _ = case
    return any(len(f) > 2 or len(loads) > 2 for f, loads, _ in _cut(ops, order))


def loads_do_not_fit(family, inputs):
    case = _ordered(family, inputs)
    if case is None:
        return False
    ops, order, _, config = case
    blocks, cap = _cut(ops, order), config.block_sizing.max_globals
    return cap > 0 and sum(len(loads) for _, loads, _ in blocks) > cap * len(blocks)


def redistribution_is_illegal(family, inputs):
    case = _ordered(family, inputs)
    if case is None:
        return False
    ops, order, edges, config = case
    cap, size = config.block_sizing.max_globals, max(config.blocks_per_partition(), 1)
    blocks = [(list(f), list(loads), mma) for f, loads, mma in _cut(ops, order)]
    if cap != 1:
        return False
    pool = [(loads.pop(), b // size) for b, (_, loads, _) in enumerate(blocks) if len(loads) > 1]
    moved = {}
    for b, (_, loads, _) in enumerate(blocks):
        if pool and not loads:
            load, home = pool.pop(0)
            loads.append(load)
            moved[load] = (b, home)
    if any(b // size != home for b, home in moved.values()):
        return True
    at = {i: (b, 0) for b, (fragments, _, _) in enumerate(blocks) for i in fragments}
    at |= {i: (b, 1) for b, (_, loads, _) in enumerate(blocks) for i in loads}
    at |= {mma: (b, 2) for b, (_, _, mma) in enumerate(blocks)}
    for e in edges:
        if e.loop_distance or not moved.keys() & {e.producer_idx, e.consumer_idx}:
            continue
        before, behind = at.get(e.producer_idx, (-1, 0)), at.get(e.consumer_idx, (len(blocks), 0))
        read, load = ops[e.producer_idx], ops[e.consumer_idx]
        same_slot = (read.channel, read.stage, read.subtile) == (
            load.channel,
            load.stage,
            load.subtile,
        )
        if before > behind or (e.consumer_idx in moved and same_slot and before[0] == behind[0]):
            return True
    return False


def _interleaved_count(ops, config, capped):
    """How many ops the reference's interleaving of one half keeps."""
    sizing, rows, columns, kept = config.block_sizing, set(), set(), 0
    loads = sum(op.role is OpRole.GLOBAL_LOAD for op in ops)
    has = {(op.channel, op.subtile) for op in ops if op.role is OpRole.FRAGMENT_LOAD}
    for mma in (op for op in ops if op.role is OpRole.COMPUTE):
        new_m, new_n = mma.stage not in rows, mma.subtile not in columns
        rows.add(mma.stage)
        columns.add(mma.subtile)
        quota = max((sizing.heavy if new_m else sizing.light) - new_m - new_n - 1, 0)
        if capped and sizing.max_globals > 0:
            quota = min(max(quota, 1), sizing.max_globals)
        taken = min(quota, loads)
        loads -= taken
        kept += 1 + taken
        kept += (new_m and (0, mma.stage) in has) + (new_n and (1, mma.subtile) in has)
    return kept


def _interleaving_loses(ops, config):
    middle = len(ops) // 2
    return any(_interleaved_count(h, config, True) < len(h) for h in (ops[:middle], ops[middle:]))


def _single_buffer_loses(ops, config):
    carried = config.loop_carried
    data = [op for op in ops if op.role is not OpRole.SYNC]
    kept = Counter(op.role for op in data)
    fragments = [op for op in data if op.role is OpRole.FRAGMENT_LOAD]
    lost = sum(op.subtile == carried.selector for op in fragments)
    if carried.role is OpRole.FRAGMENT_LOAD:
        lost = 0
    places = {OpRole.FRAGMENT_LOAD, OpRole.COMPUTE, OpRole.SHARED_STORE, OpRole.GLOBAL_LOAD}
    return lost > 0 or any(role not in places for role in kept if role is not carried.role)


def reordering_loses_ops(family, inputs):
    if family == "interleave":
        ops, config = forms.ops(inputs["ops"]), forms.pipeline_config(inputs["pipeline_config"])
        return any(
            _interleaved_count(ops, config, capped) < len(ops) for capped in (True, False)
        ) or _interleaving_loses(ops, config)
    if family == "reorder":
        ops, config = forms.ops(inputs["ops"]), forms.pipeline_config(inputs["pipeline_config"])
        return _single_buffer_loses(ops, config)
    if family == "single_buffer" and "hints" in inputs:
        return inputs["pipeline_config"]["loop_carried"]["role"] != "FRAGMENT_LOAD"
    if "is_fp8" in inputs:
        schedule = families.pingpong_schedule(inputs)
        model = schedule.target.cost_model
        ops = families.annotate_ops(schedule.declare_ops(), model)
        return _interleaving_loses(ops, schedule.config())
    return False


def an_op_has_no_price(family, inputs):
    """A declared op whose tag the cost model leaves without unit, latency and role."""
    rows = inputs.get("cost_model")
    if rows is None:
        return False
    priced = {row[0] for row in rows if row[1:] != ["NONE", 0, "NONE", 0, 0]}
    used = {0, 1, 2, 3} if "hints" in inputs else {0, 1, 3, 4, 5}
    return not used <= priced


def prologue_has_further_stages(family, inputs):
    """A prefetch into a stage above 1, which the reference's prologue leaves out."""
    ops = inputs.get("body") or inputs.get("ops") or ()
    return family in ("generic_compile", "verify_failures", "program_from_order") and any(
        op and op[9] == "GLOBAL_LOAD" and op[3] not in ("K_PREV", "NONE") and op[1] > 1
        for op in ops
    )


def manual_wait_is_negative(family, inputs):
    config = inputs.get("schedule_config") or {}
    return config.get("wait_lgkm_first", 0) < 0 or config.get("wait_vm_last", 0) < 0


def register_budget_decides(family, inputs):
    """The reference returns its greedy seed although that is over the budget."""
    if "ops" in inputs and "max_vgpr" in inputs:
        body = LoopBody.of(forms.ops(inputs["ops"]), forms.edges(inputs["edges"]))
        budget, penalty = inputs["max_vgpr"], inputs["lds_contention_penalty"]
        return halves_search_keeps_over_budget_seed(
            body, inputs["max_globals_per_block"], penalty, budget
        ) or plain_search_keeps_over_budget_seed(body, budget)
    if "is_fp8" in inputs and inputs["schedule_config"]["scheduling"] == "CSP":
        schedule = _schedule(family, inputs)
        ops = schedule.build_body()
        config = schedule.schedule_config()
        return halves_search_keeps_over_budget_seed(
            LoopBody.of(ops, schedule.derive_edges(ops)),
            schedule.config().block_sizing.max_globals,
            config.lds_contention_penalty,
            inputs["schedule_config"]["max_vgpr"],
        )
    return False


def graph_is_cyclic(family, inputs):
    if "edges" not in inputs or "ops" not in inputs:
        return False
    n = len(inputs["ops"])
    edges = {(p, c) for p, c, _, distance in inputs["edges"] if distance == 0}
    left = set(range(n))
    while free := {i for i in left if not any(c == i and p in left for p, c in edges)}:
        left -= free
    return bool(left)


# --- the errors family ------------------------------------------------------------------------


def result_is_sound(family, inputs):
    """Whether a result the reference does not give passes our own verification."""
    if family in ("fourwave", "single_buffer"):
        return True  # structurally checked while it was built
    if family in COMPILED:
        with suppress(VerificationError):  # a typed error, as good as any
            compile_schedule(_schedule(family, inputs))  # judged by the hazard model
        return True
    if family in ("interleave", "reorder"):
        return True  # a transform that returns has lost no op
    if "edges" not in inputs or "functions_called" not in inputs:
        return False
    body = LoopBody.of(forms.ops(inputs["ops"]), forms.edges(inputs["edges"]))
    wanted = [n for n in called_functions(inputs) if n.endswith(("schedule", "halves"))]
    for made in families.graph(inputs, wanted).values():
        position = {i: p for p, i in enumerate(made["order"])}
        if sorted(position) != list(range(len(body))):
            return False
        for e in body.edges:
            if e.loop_distance == 0 and position[e.producer_idx] > position[e.consumer_idx]:
                return False
    return True
