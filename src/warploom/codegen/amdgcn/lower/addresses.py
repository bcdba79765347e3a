"""Entry block: who a lane is, where it loads from, writes to and reads from.

All values named here are computed once, before the first scheduled instruction, and stay in
registers. Rows beyond M or N are made harmless: loads take the last row there is instead, and the
buffer resource ends with it, so stores after it are dropped. A load outside the buffer would
return at once and could overtake those inside; the waits of a schedule count on their order (A1).
"""

from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.state import emit_ends
from warploom.codegen.amdgcn.plan import KernelPlan
from warploom.codegen.amdgcn.tile import CHUNK, SCALE_BLOCK, GemmTile, Operand
from warploom.targets.mi355x import LANES

BUFFER_FLAGS = 0x27000  # raw buffer of untyped 32-bit data, swizzling off
OUTSIDE = 0x80000000  # an offset after every buffer: the hardware drops the store


def emit_entry(text: IrText, plan: KernelPlan) -> None:
    """Emit everything that does not depend on the loop."""
    tile = plan.tile
    text.add("%tid = call i32 @llvm.amdgcn.workitem.id.x()")
    text.add("%block0 = call i32 @llvm.amdgcn.workgroup.id.x()")
    text.add("%block1 = call i32 @llvm.amdgcn.workgroup.id.y()")
    wave = text.over("%tid", LANES)
    text.add(f"%wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {wave})")
    text.add(f"%lane = and i32 %tid, {LANES - 1}")
    text.add(f"%wave0 = udiv i32 %wave, {tile.waves_n}")
    text.add(f"%wave1 = urem i32 %wave, {tile.waves_n}")
    text.add(f"%group = udiv i32 %wave, {plan.document.protocol.waves_per_group}")
    if tile.element.bits % 8:
        pitch = text.times("%dim_k", tile.element.bits)
        text.add(f"%row_pitch = lshr i32 {pitch}, 3")
    else:
        text.add(f"%row_pitch = mul i32 %dim_k, {tile.element.size}")
    for operand, dim in zip(tile.operands, ("%dim_m", "%dim_n"), strict=True):
        _block_rows(text, operand, dim)
        _resource(text, operand, f"%mat_{operand.name}", "%row_pitch", f"%rsrc{operand.channel}")
        _load_offsets(text, plan, operand)
        _fragment_bases(text, plan, operand)
        if tile.element.scaled:
            _scale_addresses(text, plan, operand)
    text.add(f"%share = mul i32 %wave, {LANES * CHUNK}")
    text.add(f"%scale_share = mul i32 %wave, {LANES * 4}")
    text.add(f"%thread_share = mul i32 %tid, {CHUNK}")
    _trip_count(text, plan)
    # Fetched here and not sunk to its use: a scalar load in flight would make every lgkm count
    # of the schedule meaningless.
    for name, kind in plan.arguments[2:]:
        if kind != "i32":
            held = "ptr addrspace(1)" if kind == "pointer" else "float"
            text.add(f'call void asm sideeffect "", "s"({held} %{name})')


def _block_rows(text: IrText, operand: Operand, dim: str) -> None:
    """The rows this workgroup may touch: at most its own, never past the end."""
    c = operand.channel
    text.add(f"%first_row{c} = mul i32 %block{c}, {operand.rows}")
    left = text.value(f"sub i32 {dim}, %first_row{c}")
    text.add(f"%rows{c} = call i32 @llvm.umin.i32(i32 {left}, i32 {operand.rows})")
    text.add(f"%last_row{c} = sub i32 %rows{c}, 1")


def _resource(text: IrText, operand: Operand, matrix: str, row_pitch: str, name: str) -> None:
    """A buffer over the workgroup's rows of a matrix."""
    c = operand.channel
    size = text.value(f"mul i32 %rows{c}, {row_pitch}")
    size = text.value(f"zext i32 {size} to i64")
    row = text.value(f"zext i32 %first_row{c} to i64")
    pitch = text.value(f"zext i32 {row_pitch} to i64")
    offset = text.value(f"mul i64 {row}, {pitch}")
    base = text.value(f"getelementptr i8, ptr addrspace(1) {matrix}, i64 {offset}")
    text.add(
        f"{name} = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1("
        f"ptr addrspace(1) {base}, i16 0, i64 {size}, i32 {BUFFER_FLAGS})"
    )


def _load_offsets(text: IrText, plan: KernelPlan, operand: Operand) -> None:
    """``%load_<channel>_<subtile>_<i>``: byte offset of a lane's 16 bytes in the matrix block.

    LDS is written linearly (a DMA cannot do otherwise), so the swizzle is applied to the address
    in memory: the lane that fills chunk ``c`` of row ``r`` fetches chunk ``c ^ swizzle(r)``.
    """
    tile = plan.tile
    row = text.over("%tid", tile.chunks_per_row)
    chunk = text.modulo("%tid", tile.chunks_per_row)
    chunk = text.value(f"xor i32 {chunk}, {swizzled(text, tile, row)}")
    if tile.row_bytes < tile.lds_row_bytes:  # the gap behind a row of 6-bit elements
        inside = text.value(f"icmp ult i32 {chunk}, {tile.row_bytes // CHUNK}")
        chunk = text.value(f"select i1 {inside}, i32 {chunk}, i32 0")
    column = text.times(chunk, CHUNK)
    if operand.channel == 0:
        text.add(f"%load_column = add i32 {column}, 0")
    subtiles = plan.subtiles[operand.channel]
    for subtile in range(subtiles):
        for i in range(plan.loads(operand.channel)):
            first = subtile * (operand.rows // subtiles) + i * tile.rows_per_step
            last = f"%last_row{operand.channel}"
            least = f"call i32 @llvm.umin.i32(i32 {text.sum(row, first)}, i32 {last})"
            at = text.value(f"mul i32 {text.value(least)}, %row_pitch")
            text.value(f"add i32 {at}, {column}", f"load_{operand.channel}_{subtile}_{i}")


def _fragment_bases(text: IrText, plan: KernelPlan, operand: Operand) -> None:
    """``%frag_<channel>_<q>``: LDS byte offset of a lane's q-th read along K in its share.

    Elements of 8 and more bits: lanes of a row take neighbouring chunks. A block of 32 elements
    of 4 bits is a chunk, one of 6 bits is three halves of a chunk: those a lane takes in a row.
    """
    tile, c = plan.tile, operand.channel
    row = text.modulo("%lane", operand.mma_rows)
    part = text.over("%lane", operand.mma_rows)
    swizzle = swizzled(text, tile, row)
    share = text.times(f"%wave{c}", operand.rows // plan.subtiles[c] // operand.waves)
    start = text.times(text.value(f"add i32 {share}, {row}"), tile.lds_row_bytes)
    for q in range(tile.k_steps * tile.reads_per_operand):
        if tile.read_bytes < CHUNK:
            step, third = divmod(q, tile.reads_per_operand)
            block = text.sum(part, step * (LANES // operand.mma_rows))
            piece = text.sum(text.times(block, tile.reads_per_operand), third)
            chunk = text.value(f"xor i32 {text.over(piece, 2)}, {swizzle}")
            half = text.times(text.modulo(piece, 2), CHUNK // 2)
            at = text.value(f"add i32 {text.times(chunk, CHUNK)}, {half}")
            text.value(f"add i32 {start}, {at}", f"frag_{c}_{q}")
            continue
        chunk = text.sum(part, q * (LANES // operand.mma_rows))
        chunk = text.value(f"xor i32 {chunk}, {swizzle}")
        text.value(f"add i32 {start}, {text.times(chunk, CHUNK)}", f"frag_{c}_{q}")


def _scale_addresses(text: IrText, plan: KernelPlan, operand: Operand) -> None:
    """Where a lane loads its words of scales from, and where it reads the scale of its block.

    ``%scale_load_<channel>_<subtile>_<i>``: byte offset in the block's rows of the scales;
    ``%scale_frag_<channel>``: LDS byte offset of a lane's first scale. Lane ``l`` of a matrix
    instruction gives the scale of row ``l % m`` and block ``l // m`` along K.
    """
    tile, c, words = plan.tile, operand.channel, plan.tile.scale_words
    if c == 0:
        text.add(f"%scale_pitch = lshr i32 %dim_k, {SCALE_BLOCK.bit_length() - 1}")
    _resource(text, operand, f"%scale_{operand.name}", "%scale_pitch", f"%scale_rsrc{c}")
    subtiles = plan.subtiles[c]
    for i in range(plan.scale_loads(c)):
        word = text.sum("%tid", i * tile.threads)
        row, column = text.over(word, words), text.times(text.modulo(word, words), 4)
        for subtile in range(subtiles):
            at = text.sum(row, subtile * (operand.rows // subtiles))
            at = text.value(f"call i32 @llvm.umin.i32(i32 {at}, i32 %last_row{c})")
            at = text.value(f"mul i32 {at}, %scale_pitch")
            text.value(f"add i32 {at}, {column}", f"scale_load_{c}_{subtile}_{i}")
    share = text.times(f"%wave{c}", operand.rows // subtiles // operand.waves)
    row = text.value(f"add i32 {share}, {text.modulo('%lane', operand.mma_rows)}")
    block = text.over("%lane", operand.mma_rows)
    text.value(f"add i32 {text.times(row, 4 * words)}, {block}", f"scale_frag_{c}")


def swizzled(text: IrText, tile: GemmTile, row: str) -> str:
    """By how much the chunks of a row of LDS are exchanged."""
    shift, mask = tile.swizzle
    return text.value(f"and i32 {text.over(row, 1 << shift)}, {mask}")


def _trip_count(text: IrText, plan: KernelPlan) -> None:
    """``%trips``: kernel iterations; ``%k_end``: bytes along K after the last iteration."""
    protocol, tile = plan.document.protocol, plan.tile
    if plan.ragged_k:
        emit_ends(text, plan)
        return
    tiles = text.value(f"udiv i32 %dim_k, {tile.block_k}")
    left = text.value(f"sub i32 {tiles}, {protocol.kernel_k_base}")
    text.add(f"%trips = sdiv i32 {left}, {protocol.k_tiles_per_iteration}")
    text.add("%k_end = add i32 %row_pitch, 0")
