"""Entry block of an attention kernel: who a lane is, where its tiles lie, which keys it visits."""

from warploom.codegen.amdgcn.attention.plan import MMA, QUERIES, AttentionPlan, K, Q, V
from warploom.codegen.amdgcn.attention.work import Registers, Work, place_in_tile
from warploom.codegen.amdgcn.lower.addresses import BUFFER_FLAGS, OUTSIDE, swizzled
from warploom.codegen.amdgcn.lower.pointwise import IrText, convert, memory_type, narrow
from warploom.codegen.amdgcn.plan import argument_name
from warploom.codegen.amdgcn.tile import CHUNK
from warploom.ir.tile import At, DType, Indices, Position, Store, operands
from warploom.passes.loop_bounds import Affine
from warploom.targets.mi355x import LANES


def emit_entry(text: IrText, plan: AttentionPlan, work: Work) -> None:
    """Emit everything that does not depend on the loop."""
    for axis, var in zip("yz", plan.units, strict=False):
        text.add(f"%at_{var} = call i32 @llvm.amdgcn.workgroup.id.{axis}()")
    text.add("%block = call i32 @llvm.amdgcn.workgroup.id.x()")
    text.add("%tid = call i32 @llvm.amdgcn.workitem.id.x()")
    text.add(f"%wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {text.over('%tid', LANES)})")
    text.add(f"%lane = and i32 %tid, {LANES - 1}")
    text.add(f"%half = lshr i32 %lane, {MMA[1].bit_length() - 1}")
    text.add("%half_rows = shl i32 %half, 2")
    row = plan.text.row
    text.add(f"%at_{row} = mul i32 %block, {plan.tile.block_n}")
    text.add(f"%wave_rows = mul i32 %wave, {QUERIES}")
    text.add(f"%wave_row = add i32 %at_{row}, %wave_rows")
    column = text.modulo("%lane", MMA[1])
    text.add(f"%row = add i32 %wave_row, {column}")
    text.add(f"%share = mul i32 %wave, {LANES * CHUNK}")
    for load, channel in ((plan.text.q, Q), (plan.text.k, K), (plan.text.v, V)):
        emit_resource(text, plan, work, load.tensor, load.at[:-2], f"rsrc{channel}")
    _fragments(text, plan)
    _visits(text, plan, work)
    # Fetched here and not sunk to their use: a scalar load in flight would make every lgkm count
    # of the schedule meaningless.
    for name, kind in plan.arguments:
        held = {"pointer": "ptr addrspace(1)", "i32": "i32", "f32": "float"}[kind]
        text.add(f'call void asm sideeffect "", "s"({held} %{name})')


def emit_resource(
    text: IrText, plan: AttentionPlan, work: Work, tensor: str, at: tuple[At, ...], name: str
) -> None:
    """A buffer over the rows of one unit (batch and head) of a tensor."""
    shape = plan.text.kernel.tensor(tensor)
    index = "0"
    for where, axis in zip(at, shape.axes, strict=False):
        here = f"%at_{where.var}" if where.var else work.at(where.value or "")
        index = text.sum(text.value(f"mul i32 {index}, %dim_{axis.name}"), here)
    rows = shape.axes[len(at)]
    width = plan.tile.block_k if len(shape.axes) > len(at) + 1 else 1
    size = text.value(f"mul i32 %dim_{rows.name}, {width * shape.dtype.bits // 8}")
    wide, start = (text.value(f"zext i32 {x} to i64") for x in (size, index))
    offset = text.value(f"mul i64 {start}, {wide}")
    base = text.value(f"getelementptr i8, ptr addrspace(1) %{argument_name(tensor)}, i64 {offset}")
    text.add(
        f"%{name} = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1("
        f"ptr addrspace(1) {base}, i16 0, i64 {wide}, i32 {BUFFER_FLAGS})"
    )


def _fragments(text: IrText, plan: AttentionPlan) -> None:
    """LDS byte offsets of a lane's reads, and where its 16 bytes of a load lie in a row."""
    tile = plan.tile
    chunks = tile.chunks_per_row
    text.add(f"%load_row = lshr i32 %tid, {chunks.bit_length() - 1}")
    chunk = text.value(
        f"xor i32 {text.modulo('%tid', chunks)}, {swizzled(text, tile, '%load_row')}"
    )
    text.add(f"%load_column = mul i32 {chunk}, {CHUNK}")
    row = text.modulo("%lane", MMA[0])
    swizzle = swizzled(text, tile, row)
    for channel, share in ((K, row), (Q, text.value(f"add i32 {row}, %wave_rows"))):
        start = text.times(share, tile.row_bytes)
        chunk = text.value(f"xor i32 %half, {swizzle}")
        at = text.value(f"add i32 {start}, {text.times(chunk, CHUNK)}")
        text.add(f"%frag_{channel} = add i32 {at}, 0")
    # Sixteen lanes read four rows of sixteen elements, four lanes a row, and get a column each.
    quad = text.over(text.modulo("%lane", 16), 4)
    key = text.value(f"add i32 {quad}, %half_rows")
    swizzle = swizzled(text, tile, key)
    start = text.times(key, tile.row_bytes)
    part = text.times(text.modulo(text.over("%lane", 16), 2), 2)
    part = text.value(f"add i32 {part}, {text.over(text.modulo('%lane', 4), 2)}")
    inside = text.times(text.modulo("%lane", 2), CHUNK // 2)
    start = text.value(f"add i32 {start}, {inside}")
    for j in range(plan.head_tiles):
        chunk = text.value(f"xor i32 {text.sum(part, 4 * j)}, {swizzle}")
        at = text.value(f"add i32 {start}, {text.times(chunk, CHUNK)}")
        text.add(f"%frag_{V}_{j} = add i32 {at}, 0")


def _visits(text: IrText, plan: AttentionPlan, work: Work) -> None:
    """``%first_tile``, ``%trips``; ``%limit``: the first key that does not exist."""
    axis = plan.text.kernel.var(plan.text.key).axis
    until = plan.text.body.loop.until
    end = f"%dim_{axis}"
    if until is not None:
        end = text.value(f"call i32 @llvm.smin.i32(i32 {end}, i32 {work.at(until)})")
    text.add(f"%limit = add i32 {end}, 0")
    text.add(f"%last_key = sub i32 %dim_{axis}, 1")
    first = "0"
    for bound in plan.text.cut.bounds if plan.text.cut else ():
        far = plan.tile.block_n - 1 if bound.rows > 0 else 0
        rows = text.value(f"add i32 %at_{plan.text.row}, {far}")
        most = rest_of(text, work, bound, rows)
        if bound.loop < 0:
            end = text.value(f"call i32 @llvm.smin.i32(i32 {end}, i32 {text.sum(most, 1)})")
        elif bound.loop > 0:
            least = text.value(f"sub i32 0, {most}")
            first = text.value(f"call i32 @llvm.smax.i32(i32 {first}, i32 {least})")
    text.add(f"%first_tile = udiv i32 {first}, {plan.keys}")
    start = text.times("%first_tile", plan.keys)
    protocol = plan.document.protocol
    base, per = (n * plan.keys for n in (protocol.kernel_k_base, protocol.k_tiles_per_iteration))
    left = text.value(f"sub i32 {end}, {start}")
    left = text.value(f"sub i32 {left}, {base}")
    left = text.value(f"call i32 @llvm.smax.i32(i32 {left}, i32 0)")
    left = text.value(f"add i32 {left}, {per - 1}")
    text.add(f"%trips = udiv i32 {left}, {per}")


def rest_of(text: IrText, work: Work, bound: Affine, rows: str) -> str:
    """What a bound is without the loop's index, for the row of index ``rows``."""
    total = text.sum(text.times(rows, abs(bound.rows)), 0) if bound.rows else "0"
    if bound.rows < 0:
        total = text.value(f"sub i32 0, {total}")
    for factor, name in bound.rest:
        part = text.value(f"mul i32 {work.at(name)}, {factor}")
        total = text.value(f"add i32 {total}, {part}")
    return text.value(f"add i32 {total}, {bound.constant}")


def early_values(plan: AttentionPlan, work: Work) -> dict[str, Registers]:
    """Values without keys that are written out where used, computed once: scalars and rows."""
    body, text = plan.text.body, plan.text
    found: dict[str, Registers] = {}
    for op in (*body.head, *body.loop.body):
        result = getattr(op, "result", None)
        if result is None or not body.is_free(result.name) or isinstance(op, Indices | Position):
            continue
        if {d.var for d in result.dims} <= {text.row} and not _on_key(plan, result.name):
            kind = {DType.BOOL: "i1", DType.I32: "i32"}.get(result.dtype, "float")
            found[result.name] = [(kind, work.at(result.name))]
    return found


def _on_key(plan: AttentionPlan, name: str) -> bool:
    op = plan.text.body.ops.get(name)
    if isinstance(op, Position):
        return op.var == plan.text.key
    return op is not None and any(_on_key(plan, a) for a in operands(op))


_STORED = {DType.F32: "float", DType.BF16: "bfloat", DType.F16: "half"}


def emit_stores(text: IrText, plan: AttentionPlan, carried: dict[str, list[Registers]]) -> None:
    """Store the outputs; rows past the last lie outside their buffer and are dropped."""
    for op in plan.text.stores:
        rows = op.at[: len(plan.text.kernel.grid.vars) - 1]
        emit_resource(text, plan, Work(text, plan, {}), op.tensor, rows, f"rsrc_{op.tensor}")
    for op in plan.text.stores:
        text.comment(f"store {op.tensor}")
        wide = op.at[-1].var == plan.text.head
        for j in range(plan.head_tiles if wide else 1):
            given = {name: p[j if len(p) > 1 else 0] for name, p in carried.items()}
            work = Work(text, plan, given)
            _store_tile(text, plan, op, work, j) if wide else _store_row(text, plan, op, work)
    text.add("ret void")


def _store_tile(text: IrText, plan: AttentionPlan, op: Store, work: Work, piece: int) -> None:
    dtype = plan.text.kernel.tensor(op.tensor).dtype
    size, kind = dtype.bits // 8, plan.text.body.values[op.value].dtype
    row = text.value(f"mul i32 %row, {plan.tile.block_k * size}")
    half = text.value(f"mul i32 %half_rows, {size}")
    start = text.value(f"add i32 {row}, {half}")
    for group in range(0, 16, 4):
        text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")
        wide = "poison"
        for i in range(4):
            value = convert(text, work.at(op.value, group + i), kind, DType.F32)
            wide = text.value(f"insertelement <4 x float> {wide}, float {value}, i32 {i}")
        held, suffix = "<4 x float>", "v4f32"
        if dtype is not DType.F32:
            cut = text.value(f"fptrunc <4 x float> {wide} to <4 x {_STORED[dtype]}>")
            wide = text.value(f"bitcast <4 x {_STORED[dtype]}> {cut} to <2 x i32>")
            held, suffix = "<2 x i32>", "v2i32"
        at = text.sum(start, (MMA[0] * piece + place_in_tile(group)) * size)
        text.add(
            f"call void @llvm.amdgcn.raw.ptr.buffer.store.{suffix}({held} {wide}, "
            f"ptr addrspace(8) %rsrc_{op.tensor}, i32 {at}, i32 0, i32 0)"
        )


def _store_row(text: IrText, plan: AttentionPlan, op: Store, work: Work) -> None:
    """A number a query: both halves of the lanes have it, the first one stores it."""
    dtype = plan.text.kernel.tensor(op.tensor).dtype
    kind = memory_type(dtype)
    value = convert(text, work.at(op.value), plan.text.body.values[op.value].dtype, DType.F32)
    bits = narrow(text, value, dtype)
    at = text.value(f"mul i32 %row, {dtype.bits // 8}")
    first = text.value("icmp eq i32 %half, 0")
    at = text.value(f"select i1 {first}, i32 {at}, i32 {OUTSIDE}")
    held = "float" if kind == "f32" else kind
    text.add(
        f"call void @llvm.amdgcn.raw.ptr.buffer.store.{kind}({held} {bits}, "
        f"ptr addrspace(8) %rsrc_{op.tensor}, i32 {at}, i32 0, i32 0)"
    )
