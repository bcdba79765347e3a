"""Vector work on the lanes of a wave: every op of a step as LLVM IR.

A lane holds one query. Values of rows are one register; tiles of scores a register for each of the
lane's keys, ``8 * (r // 4) + 4 * half + r % 4`` of every 32; tiles along the head likewise. So
pointwise work needs no other lane, and a reduction over keys one exchange between the halves.
Sixteen registers of a tile are kept as one vector where sums and products are formed: the chip
computes two of them at once.
"""

from collections.abc import Callable, Mapping

from warploom.codegen.amdgcn.attention.plan import AttentionPlan
from warploom.codegen.amdgcn.lower.pointwise import IrText, constant, pointwise
from warploom.codegen.amdgcn.plan import argument_name
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Op
from warploom.passes.loop_bounds import moves

TILE = 16  # registers of a lane that hold its part of a 32x32 tile
WIDE = f"<{TILE} x float>"
Registers = list[tuple[str, str]]  # (LLVM type, SSA name): floats, or whole tiles
_NONE = {Fn.MAX: float("-inf"), Fn.ADD: 0.0}  # what a key outside adds to a reduction
_PACKED = {Fn.ADD: "fadd", Fn.SUB: "fsub", Fn.MUL: "fmul"}


def place_in_tile(register: int) -> int:
    """The row of a 32-row tile that a register of the first half of the lanes holds."""
    return 8 * (register // 4) + register % 4


class Work:
    """Evaluates ops of one step. ``given`` are values from elsewhere.

    ``first_key``: the key the tile of scores starts at, plus four in the second half of the lanes.
    Keys past the end count for nothing, and conditions may hide some: that is looked at only in
    tiles that are not ``whole``, a truth of the wave that code branches on ("": in every tile).
    """

    def __init__(
        self,
        text: IrText,
        plan: AttentionPlan,
        given: Mapping[str, Registers],
        *,
        first_key: str = "",
        whole: str = "",
    ) -> None:
        self._text = text
        self._plan = plan
        self._body = plan.text.body
        self._made: dict[str, Registers] = dict(given)
        self._inline: dict[tuple[str, int], str] = {}  # elements, and tiles from -1 downwards
        self._first_key = first_key
        self._whole = whole

    def run(self, op: ir.Pointwise | ir.Reduce | ir.Broadcast) -> Registers:
        """Evaluate one op and keep its registers."""
        name = op.result.name
        if isinstance(op, ir.Reduce):
            made = [("float", self._reduced(op))]
        elif self._hides(op):
            assert isinstance(op, ir.Pointwise)
            made = self._where_cut(self.tiles(op.args[1]), lambda e, seen: self._computed(op, e))
        elif self._is_packed(op):
            made = [(WIDE, self._wide(name, i)) for i in range(self.elements(name) // TILE)]
        else:
            kind = {DType.BOOL: "i1", DType.I32: "i32"}.get(op.result.dtype, "float")
            made = [(kind, self._computed(op, e)) for e in range(self.elements(name))]
        self._made[name] = made
        return made

    def elements(self, name: str) -> int:
        """Registers of a lane that a value takes (of one tile along the head)."""
        dims = [d.var for d in self._body.values[name].dims]
        if self._plan.text.key in dims:
            return TILE * self._plan.score_tiles
        return TILE if self._plan.text.head in dims else 1

    def at(self, name: str, element: int = 0) -> str:
        """One element of a value: known, or computed where it is used."""
        made = self._made.get(name)
        if made is not None and made[0][0] != WIDE:
            return made[element if len(made) > 1 else 0][1]
        element = element if self.elements(name) > 1 else 0
        if (name, element) not in self._inline:
            op = self._body.ops.get(name)
            if made is not None or (op is not None and self._is_packed(op)):
                tile = self._wide(name, element // TILE)
                found = self._text.value(f"extractelement {WIDE} {tile}, i32 {element % TILE}")
            else:
                found = self._computed(self._body.ops[name], element)
            self._inline[name, element] = found
        return self._inline[name, element]

    def tiles(self, name: str) -> Registers:
        """A tile of scores as vectors."""
        return [(WIDE, self._wide(name, i)) for i in range(self.elements(name) // TILE)]

    def inside(self, tiles: Registers, instead: float) -> Registers:
        """A tile of scores, with another value where a key lies past the last."""
        other = constant(instead, DType.F32)

        def kept(element: int, value: str) -> str:
            exists = self._text.value(f"icmp slt i32 {self._key(element)}, %limit")
            return self._text.value(f"select i1 {exists}, float {value}, float {other}")

        return self._where_cut(tiles, kept)

    def _where_cut(self, tiles: Registers, change: Callable[[int, str], str]) -> Registers:
        """Elements changed in tiles that are not whole: a branch around what changes them."""
        text = self._text
        if not self._whole:
            return self._changed(tiles, change)
        before, known = text.block, dict(self._inline)
        number = len(text.lines)
        text.add(f"br i1 {self._whole}, label %kept_{number}, label %cut_{number}")
        text.label(f"cut_{number}")
        changed = self._changed(tiles, change)
        text.add(f"br label %kept_{number}")
        text.label(f"kept_{number}")
        self._inline = known  # what was computed on the way is not there on the other
        return [
            (WIDE, text.value(f"phi {WIDE} [ {a}, %{before} ], [ {b}, %cut_{number} ]"))
            for (_, a), (_, b) in zip(tiles, changed, strict=True)
        ]

    def _changed(self, tiles: Registers, change: Callable[[int, str], str]) -> Registers:
        text, made = self._text, []
        for i, (_, tile) in enumerate(tiles):
            new = tile
            for r in range(TILE):
                old = text.value(f"extractelement {WIDE} {tile}, i32 {r}")
                value = change(TILE * i + r, old)
                new = text.value(f"insertelement {WIDE} {new}, float {value}, i32 {r}")
            made.append((WIDE, new))
        return made

    def _wide(self, name: str, tile: int) -> str:
        """Sixteen elements of a value as one vector."""
        text, made = self._text, self._made.get(name)
        if made is not None and made[0][0] == WIDE:
            return made[tile][1]
        tile = tile if self.elements(name) > 1 else 0
        key = (name, -1 - tile)
        if key in self._inline:
            return self._inline[key]
        op = self._body.ops.get(name)
        if self.elements(name) == 1:
            one = text.value(f"insertelement {WIDE} poison, float {self.at(name)}, i32 0")
            found = text.value(
                f"shufflevector {WIDE} {one}, {WIDE} poison, <{TILE} x i32> zeroinitializer"
            )
        elif made is None and isinstance(op, ir.Pointwise) and self._is_packed(op):
            a, b = (self._wide(arg, tile) for arg in op.args)
            found = text.value(f"{_PACKED[op.fn]} contract {WIDE} {a}, {b}")
        else:
            found = "poison"
            for r in range(TILE):
                value = self.at(name, TILE * tile + r)
                found = text.value(f"insertelement {WIDE} {found}, float {value}, i32 {r}")
        self._inline[key] = found
        return found

    def _is_packed(self, op: Op) -> bool:
        """Whether an op is a sum or product of tiles of floats."""
        if not isinstance(op, ir.Pointwise) or op.fn not in _PACKED:
            return False
        floats = all(self._body.values[a].dtype is DType.F32 for a in op.args)
        return floats and self.elements(op.result.name) >= TILE

    def _key(self, element: int) -> str:
        at = 32 * (element // TILE) + place_in_tile(element % TILE)
        name = f"key {at}"
        if (name, 0) not in self._inline:
            self._inline[name, 0] = self._text.sum(self._first_key, at)
        return self._inline[name, 0]

    def _computed(self, op: Op, element: int) -> str:  # noqa: PLR0911 (one line a kind of op)
        text, body = self._text, self._body
        match op:
            case ir.Const():
                return constant(op.value, op.result.dtype)
            case ir.Scalar():
                return f"%{argument_name(op.parameter, scalar=True)}"
            case ir.Size():
                width = self._plan.text.kernel.tensor(op.tensor).axis(op.axis).size
                return str(width) if width is not None else f"%dim_{op.axis}"
            case ir.Position():
                return f"%at_{op.var}"
            case ir.Broadcast():
                return self.at(op.arg, element)
            case ir.Indices() if op.var == self._plan.text.row:
                return "%row"
            case ir.Indices() if op.var == self._plan.text.key:
                return self._key(element)
            case ir.Pointwise():
                kinds = [body.values[a].dtype for a in op.args]
                args = [self.at(a, element) for a in op.args]
                return pointwise(text, op.fn, args, kinds, op.result.dtype)
        raise AssertionError(op)

    def _hides(self, op: Op) -> bool:
        """Whether an op is a condition that hides keys."""
        if not isinstance(op, ir.Pointwise) or op.fn is not Fn.WHERE or not self._whole:
            return False
        return moves(self._body, op.args[0])

    def _reduced(self, op: ir.Reduce) -> str:
        text = self._text
        tiles = self.inside(self.tiles(op.arg), _NONE[op.fn])
        self._made[op.arg] = tiles  # for all that follows: keys outside count nowhere
        if op.fn is Fn.ADD:
            total = self._summed([name for _, name in tiles])
        else:
            elements = [
                text.value(f"extractelement {WIDE} {name}, i32 {r}")
                for _, name in tiles
                for r in range(TILE)
            ]
            total = elements[0]
            for element in elements[1:]:
                total = self._joined(op, total, element)
        bits = text.value(f"bitcast float {total} to i32")
        pair = text.value(
            "call { i32, i32 } @llvm.amdgcn.permlane32.swap("
            f"i32 {bits}, i32 {bits}, i1 false, i1 false)"
        )
        words = [text.value(f"extractvalue {{ i32, i32 }} {pair}, {i}") for i in (0, 1)]
        low, high = (text.value(f"bitcast i32 {word} to float") for word in words)
        return self._joined(op, low, high)

    def _summed(self, tiles: list[str]) -> str:
        """The sum of all elements, two at a time."""
        text, total, width = self._text, tiles[0], TILE
        for tile in tiles[1:]:
            total = text.value(f"fadd contract {WIDE} {total}, {tile}")
        while width > 2:
            width //= 2
            halves = []
            for first in (0, width):
                order = ", ".join(f"i32 {first + i}" for i in range(width))
                kind = f"<{2 * width} x float>"
                halves.append(
                    text.value(
                        f"shufflevector {kind} {total}, {kind} poison, <{width} x i32> <{order}>"
                    )
                )
            total = text.value(f"fadd contract <{width} x float> {halves[0]}, {halves[1]}")
        pair = [text.value(f"extractelement <2 x float> {total}, i32 {i}") for i in (0, 1)]
        return text.value(f"fadd contract float {pair[0]}, {pair[1]}")

    def _joined(self, op: ir.Reduce, a: str, b: str) -> str:
        return pointwise(self._text, op.fn, [a, b], [DType.F32] * 2, DType.F32)
