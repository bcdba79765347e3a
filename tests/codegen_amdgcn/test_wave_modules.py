"""Modules of tile kernels on MI355X: the program that is printed is verified, executed, written."""

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen_amdgcn import test_pipelined_loops as loops, test_tile_kernels as tiles
from tests.codegen_amdgcn.tile_cases import made_for, random_arrays
from warploom.codegen.amdgcn.tile_ir.gate import kinds_of
from warploom.codegen.amdgcn.tile_ir.printer import print_waves
from warploom.codegen.amdgcn.tile_ir.trial import trial_sizes
from warploom.compiler.amd_tiles import compile_tile_kernel, expanded
from warploom.compiler.module_source import emit_module, emit_waves
from warploom.errors import BackendError, DocumentError, InterpreterError, VerificationError
from warploom.interp.module_report import verify_module
from warploom.interp.run import run_module
from warploom.interp.waves import merged
from warploom.ir import waves as ir
from warploom.ir.serialize import from_json, to_json
from warploom.ir.wave_documents import wave_documents
from warploom.kernels.swiglu import swiglu
from warploom.passes.amdgcn.kernel import lower_kernel
from warploom.passes.amdgcn.loop_body import UnscheduledError
from warploom.passes.amdgcn.loop_schedule import pipelined_plans, schedule_kernel
from warploom.passes.amdgcn.plan import TilePlan, candidates
from warploom.passes.amdgcn.wave_module import build_wave_module
from warploom.targets.amdgcn import MI355X
from warploom.verify import verify
from warploom.verify.coverage.report import How

PIPELINED = ["gemm", "swiglu", "gathered", "attention"]
PLAIN = ["gemm", "softmax", "column_sum", "listed", "scattered", "grouped_gathered", "summed_into"]
MADE = {}


def pipelined(name):
    """The module of a kernel with a pipelined loop, its schedules, sizes, and inputs."""
    if name not in MADE:
        text, types, sizes, constants, without, given, extents = loops.CASES[name]
        kernel = made_for(text, types, sizes, constants, without)
        for plan in pipelined_plans(expanded(kernel), extents, MI355X):
            try:
                scheduled = schedule_kernel(plan)
                break
            except UnscheduledError:
                continue
        lowered = lower_kernel(scheduled.plan, schedules=scheduled.by_loop)
        module = build_wave_module(kernel, lowered)
        arrays = random_arrays(kernel, sizes, given, scale=0.4)
        MADE[name] = module, tuple(scheduled.by_loop.values()), sizes, arrays
    return MADE[name]


def plain(name):
    """The module of a kernel without one."""
    text, types, sizes, constants, without, given, options = (tiles.CASES | tiles.MORE)[name]
    kernel = made_for(text, types, sizes, constants, without)
    own = expanded(kernel)
    extents = next(iter(candidates(own, options.get("extents") or {})))
    lowered = lower_kernel(TilePlan(kernel=own, extents=extents, waves=4), prefetch=True)
    return build_wave_module(kernel, lowered), sizes, random_arrays(kernel, sizes, given, scale=0.4)


def outputs_of(kernel):
    return [t for t in kernel.tensors if t.access.value == "out"]


def wrong(module, sizes, arrays, **how):
    """How far results of a run are off, of the largest element."""
    kernel = module.kernel
    given = [t.name for t in kernel.tensors if t.name in arrays]
    scalars = {p.name: 0.5 for p in kernel.parameters}
    known = {a.name for t in kernel.tensors if t.name in arrays for a in t.axes if a.per == 1}
    with np.errstate(all="ignore"):
        want = kernel.reference(
            *(arrays[n] for n in given), exact=False, extents=dict(module.program.extents),
            sizes={n: s for n, s in sizes.items() if n not in known}, **scalars,
        )  # fmt: skip
    want = want if isinstance(want, tuple) else (want,)
    zeros = {t.name: np.zeros(1) for t in outputs_of(kernel)}
    found = run_module(module, arrays, scalars, sizes=sizes, initial=zeros, **how)
    errors = []
    for t, wanted in zip(outputs_of(kernel), want, strict=True):
        right = np.asarray(wanted, np.float64)
        mine = np.asarray(found[t.name], np.float64)
        same = (mine == right) | (np.isnan(mine) & np.isnan(right))
        apart = np.where(same, 0, np.abs(mine - right))
        assert not np.isnan(apart).any(), t.name
        errors.append(apart.max(initial=0) / max(1e-9, np.abs(right[np.isfinite(right)]).max()))
    return max(errors)


@pytest.mark.parametrize("timing", ["in_order", "random", "adversarial"])
@pytest.mark.parametrize("rows", [True, False])
def test_pipelined_programs_compute_their_kernel(timing, rows):
    checked = 0
    for name in PIPELINED if timing == "in_order" else PIPELINED[:1]:
        module, _, sizes, arrays = pipelined(name)
        assert wrong(module, sizes, arrays, timing=timing, rows=rows, seed=3) < 0.012, name
        checked += 1
    assert checked


@pytest.mark.parametrize("name", PLAIN)
def test_plain_programs_compute_their_kernel(name):
    module, sizes, arrays = plain(name)
    for timing, rows in (("in_order", True), ("adversarial", False)):
        assert wrong(module, sizes, arrays, timing=timing, rows=rows) < 0.012, timing


def test_a_module_is_what_its_json_says():
    modules = [pipelined(n)[0] for n in PIPELINED] + [plain(n)[0] for n in PLAIN[:3]]
    for module in modules:
        read = from_json(to_json(module))
        assert read == module
        assert print_waves(read.program) == print_waves(module.program)
    assert len(modules) == 7


def test_the_document_that_is_verified_is_read_off_the_program():
    for name in PIPELINED:
        module, schedules, _, _ = pipelined(name)
        documents = wave_documents(module)
        wanted = tuple(replace(s.document, body=(), edges=()) for s in schedules)
        assert documents == wanted
        assert all(verify(d).clean for d in documents)
        assert len(documents) == 1


def edited(module, change):
    """The module with instructions that a function gives; where it gives None they stay."""

    def within(one):
        match one:
            case ir.If():
                rest = None if one.otherwise is None else over(one.otherwise)
                return replace(one, body=over(one.body), otherwise=rest)
            case ir.While() | ir.Step():
                return replace(one, body=over(one.body))
            case ir.Pipeline():
                parts = {n: over(getattr(one, n)) for n in ("prologue", "kernel", "epilogue")}
                return replace(one, **parts)
        return one

    def over(body):
        return tuple(change(one) or within(one) for one in body)

    program = module.program
    return replace(module, program=replace(program, body=over(program.body)))


def test_a_weaker_wait_is_found_by_the_verifier_and_by_the_interpreter():
    module, _, sizes, arrays = pipelined("gemm")
    weak = edited(module, lambda x: ir.Wait(lgkm=15) if isinstance(x, ir.Wait) and x.lgkm else None)
    weak = edited(weak, lambda x: ir.Wait(lgkm=15) if x == ir.Wait(lgkm=0) else None)
    assert weak != module
    assert not all(verify(d).clean for d in wave_documents(weak))
    with pytest.raises(InterpreterError, match="read while it is being filled"):
        wrong(weak, sizes, arrays, timing="adversarial", rows=True, seed=3)
    late = edited(module, lambda x: ir.Wait(vm=60) if isinstance(x, ir.Wait) and x.vm else None)
    late = edited(late, lambda x: ir.Wait(vm=60) if x == ir.Wait(vm=0) else None)
    assert late != module
    assert not all(verify(d).clean for d in wave_documents(late))


def test_other_edits_are_found():
    """A store in another row, another stage, a barrier left out, an operand of another step."""
    module = pipelined("gemm")[0]

    def other_stage(one):
        if isinstance(one, ir.ReadLds) and one.ring == 2:
            return replace(one, stage=1 - one.stage)
        return None

    with pytest.raises(DocumentError, match="in a step of ring"):
        wave_documents(edited(module, other_stage))
    tile, tile_sizes, tile_arrays = plain("gemm")
    open_lds = edited(tile, lambda x: ir.Pin() if isinstance(x, ir.Barrier) else None)
    with pytest.raises(InterpreterError, match="two waves touch"):
        wrong(open_lds, tile_sizes, tile_arrays, timing="in_order")
    far = edited(tile, lambda x: replace(x, a=x.b, b=x.a) if isinstance(x, ir.Mfma) else None)
    assert wrong(far, tile_sizes, tile_arrays, timing="in_order") > 0.1


def test_documents_that_mean_nothing_are_refused():
    module = plain("softmax")[0]
    text = to_json(module)
    for old, new, said in (
        ('"%lane"', '"%nobody"', "is not written here"),
        ('"AddressBits"', '"Nothing"', "expected an instruction"),
    ):
        assert old in text
        with pytest.raises(DocumentError, match=said):
            from_json(text.replace(old, new, 1))


def test_the_gate_counts_what_stands_in_the_steps():
    module, (schedule,), _, _ = pipelined("gemm")
    (loop,) = ir.pipelines(module.program)
    kinds = kinds_of(loop)
    for op in schedule.body.ops:
        counted = sum(n for _, n in kinds[op.name, op.index])
        assert counted == (0 if op.steps else op.count), op.name
    assert kinds


def test_the_listing_shows_copies_waits_and_products():
    text = str(pipelined("gemm")[0])
    for said in ("pipelined loop", "ring 2:", "copy 16 bytes a lane a", "wait vmcnt(", "mma "):
        assert said in text, said
    assert "store out" in text


def test_all_verifications_of_a_module_from_a_file():
    for module in (pipelined("gemm")[0], plain("softmax")[0], plain("listed")[0]):
        report = verify_module(from_json(to_json(module)))
        assert report.verdict == "clean", report.text()
        assert len(report.dataflow.tried) >= 4
        said = {c.how for c in report.coverage.claims}
        assert How.NOT not in said


def test_wrong_programs_are_found_by_the_report():
    """Each is wrong in another way, and well-formed."""
    module = pipelined("gemm")[0]
    tile = plain("gemm")[0]

    def other(kind, **fields):
        return lambda x: replace(x, **fields) if isinstance(x, kind) else None

    def early(one):
        """The pipelined part leaves out a step."""
        if isinstance(one, ir.Pipeline):
            return replace(one, trips=0)
        return None

    def overlap(one):
        if isinstance(one, ir.Pipeline):
            rings = tuple(replace(r, at=0) for r in one.rings)
            return replace(one, rings=rings)
        return None

    def ungrouped(one):
        """A barrier that only some lanes reach."""
        if one == ir.Barrier(fenced=True):
            return ir.If(ir.LANE, (one,))
        return None

    wrong_modules = {
        "a step left out": edited(module, early),
        "rings in one place": edited(module, overlap),
        "unsigned": edited(tile, other(ir.Compare, op=ir.Order.ULT)),
        "a store of every lane": edited(
            tile, lambda x: replace(x, condition=True) if is_store_guard(x) else None
        ),
        "sums begin anew": edited(tile, other(ir.Mfma, total=0)),
        "another number": edited(tile, lambda x: replace(x, b=x.b + 1) if steps_on(x) else None),
        "a barrier of some lanes": edited(tile, ungrouped),
        "runs that end between two": edited(
            tile, lambda x: replace(x, op=ir.IntOp.AND) if is_position_or_limit(x) else None
        ),
    }
    for what, made in wrong_modules.items():
        assert made != module
        assert made != tile
        report = verify_module(made)
        assert report.verdict in ("wrong", "race") or any(
            c.how is How.NOT for c in report.coverage.claims
        ), what
    assert len(wrong_modules) == 8


def is_store_guard(one):
    return isinstance(one, ir.If) and any(isinstance(x, ir.Store) for x in one.body)


def is_position_or_limit(one):
    """Of the test whether a tile begins and ends at whole runs."""
    return isinstance(one, ir.Integer) and one.op is ir.IntOp.OR and one.bits == 32


def steps_on(one):
    return isinstance(one, ir.Integer) and one.op is ir.IntOp.UREM and isinstance(one.b, int)


def test_code_of_a_module_file_is_that_of_the_compilation():
    text, types, sizes, constants, without, _, extents = loops.CASES["gemm"]
    made = compile_tile_kernel(made_for(text, types, sizes, constants, without), extents=extents)
    code = emit_waves(to_json(made.module))
    assert code.assembly == made.assembly
    assert code.sidecar() == made.sidecar()
    assert code.gate.exact
    late = edited(
        made.module, lambda x: ir.Wait(vm=40) if isinstance(x, ir.Wait) and x.vm else None
    )
    with pytest.raises(VerificationError, match="race"):
        emit_waves(to_json(late))


def test_programs_of_other_chips_are_refused():
    module = plain("softmax")[0]
    with pytest.raises(BackendError, match="program of waves"):
        emit_module(to_json(module))


def test_interpreted_kernels_are_modules():
    rng = np.random.default_rng(0)
    x, gate, up = (rng.normal(size=s).astype(np.float32) for s in ((9, 40), (5, 40), (5, 40)))
    for timing in ("in_order", "adversarial"):
        got = swiglu.interpret(
            x, gate, up, types="f16", target="mi355x", timing=timing, config={"m": 64, "n": 32}
        )
        want = swiglu.reference(x, gate, up, types="f16", exact=False)
        assert np.abs(got - want).max() < 0.02


def test_a_module_names_no_folder_of_this_machine():
    for module in (pipelined("gemm")[0], plain("softmax")[0]):
        text = to_json(module)
        assert "gemm.py" in text or "tile_kernels.py" in text
        assert "/src/" not in text
        assert "/tests/" not in text


@pytest.mark.parametrize("word", [ir.Word.BF16, ir.Word.F16])
def test_atomic_sums_of_16_bits_are_one_element(word):
    """They were arrays of one: a kernel that adds rows in bf16 ended in a bare ValueError."""
    one = np.uint16(0x3F80 if word is ir.Word.BF16 else 0x3C00)
    two = np.uint16(0x4000)
    memory = np.zeros(2, np.uint16)
    memory[0] = merged(ir.Merging.FADD, word, one, one)
    assert memory.tolist() == [two, 0]


def test_a_loop_over_numbers_has_its_steps():
    """`warploom check scan --on mi355x` ended in a KeyError: chunks have no extent."""
    kernel = made_for(*tiles.CASES["gemm"][:2], {}, *tiles.CASES["gemm"][3:5])
    loops = [{"axis": "k", "steps": 7}]
    sidecar = {"fixed_sizes": {}, "extents": {}, "loops": loops}
    assert trial_sizes(kernel, sidecar, {})["k"] == 7
    walked = sidecar | {"extents": {v.name: 32 for v in kernel.vars if v.axis == "k"}}
    assert trial_sizes(kernel, walked, {})["k"] == 7 * 32 + 8
