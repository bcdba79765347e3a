"""The dependence graph in layers, as DOT and as SVG: kinds, distances, critical recurrence.

Solid edges are read after write (FLOW), dashed ones write after read (ANTI), dotted ones write
after write (OUTPUT). A number on an edge is its loop distance. The cycle that bounds the
initiation interval is red.
"""

from collections.abc import Sequence

from warploom.dataclass import dataclass
from warploom.errors import CycleError
from warploom.ir.schedule_ops import DepEdge, DepKind
from warploom.modulo.bounds.paths import Cycle, Paths
from warploom.modulo.bounds.system import Arc
from warploom.viz.palette import op_colour, op_word
from warploom.viz.recurrence import Node, Recurrence, check_graph, critical_recurrence
from warploom.viz.svg import Drawing, number

SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Point:
    """A node's column and its place in it, in steps; rows may be fractional."""

    layer: int
    row: float


def layered_layout(nodes: int, edges: Sequence[DepEdge]) -> tuple[Point, ...]:
    """Where each node goes. Raises CycleError when distance-0 edges form a cycle."""
    pairs = sorted({(e.producer_idx, e.consumer_idx) for e in edges if e.loop_distance == 0})
    layers = _layers(nodes, pairs)
    columns: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for node, layer in enumerate(layers):
        columns[layer].append(node)
    tallest = max((len(column) for column in columns), default=0)
    rows = _order_columns(nodes, columns, pairs, tallest)
    return tuple(Point(layers[node], rows[node]) for node in range(nodes))


def _layers(nodes: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from the left; then sources move right, next to what they feed."""
    layer = Paths(nodes, [Arc(a, b, 1, 0, "") for a, b in pairs]).at(0)
    if isinstance(layer, Cycle):
        where = f"ops {sorted(arc.src for arc in layer)}"
        raise CycleError("edges of distance 0 form a cycle", where=where)
    fed = {b for _, b in pairs}
    for source in {a for a, _ in pairs} - fed:
        layer[source] = min(layer[b] for a, b in pairs if a == source) - 1
    return layer


def _order_columns(
    nodes: int, columns: list[list[int]], pairs: Sequence[tuple[int, int]], tallest: int
) -> list[float]:
    """Sweep left and right; each node goes to the mean row of its neighbours."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    rows = [0.0] * nodes
    for column in columns:
        _spread(column, rows, tallest)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            mean = {n: sum(rows[m] for m in near[n]) / len(near[n]) for n in column if near[n]}
            column.sort(key=lambda n: (mean.get(n, rows[n]), n))
            _spread(column, rows, tallest)
    return rows


def _spread(column: Sequence[int], rows: list[float], tallest: int) -> None:
    """Place a column's nodes one step apart, centred against the tallest column."""
    first = (tallest - len(column)) / 2
    for i, node in enumerate(column):
        rows[node] = first + i


_DOT_STYLE = {DepKind.FLOW: "solid", DepKind.ANTI: "dashed", DepKind.OUTPUT: "dotted"}
_DASH = {DepKind.FLOW: "", DepKind.ANTI: "5 3", DepKind.OUTPUT: "1.5 3"}
_WORDS = {
    DepKind.FLOW: "FLOW, read after write",
    DepKind.ANTI: "ANTI, write after read",
    DepKind.OUTPUT: "OUTPUT, write after write",
}
RED = "#b2182b"
NODE_W, NODE_H, BETWEEN, STEP_Y, TOP = 150.0, 24.0, 90.0, 46.0, 104.0
LETTER = 6.4  # pixels of a letter of a label

_STYLE = (
    "text{font:11px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#222}"
    ".h{font-size:13px;font-weight:600}.dim{fill:#666}.in{fill:#fff;text-anchor:middle}"
    ".edge{fill:none;stroke:#6b7785;stroke-width:1.1;opacity:.75}"
    f".far{{stroke:#9a8fb5}}.hot{{stroke:{RED};stroke-width:2.4;opacity:1}}"
    ".node{stroke:#fff}.hotnode{stroke:#b2182b;stroke-width:2.5}.d{fill:#5b4b8a;font-size:10px}"
    ".edge:hover{stroke:#000;opacity:1;stroke-width:2.4}"
)


def graph_dot(body: Sequence[Node], edges: Sequence[DepEdge], *, name: str = "body") -> str:
    """The graph in DOT. Loop-carried edges do not pull on the layout."""
    hot = _hot_edges(critical_recurrence(body, edges))
    nodes = {edges[i].producer_idx for i in hot}
    lines = [f"digraph {_quote(name)} {{", "  rankdir=LR;"]
    lines.append('  node [shape=box, style="rounded,filled", fontname="Helvetica"];')
    for i, op in enumerate(body):
        colour = op_colour(op.role.name)
        border = f', color="{RED}", penwidth=2.5' if i in nodes else ""
        label = f"{i} {op.label()}"
        lines.append(f'  n{i} [label={_quote(label)}, fillcolor="{colour}"{border}];')
    for i, edge in enumerate(edges):
        parts = [f"style={_DOT_STYLE[edge.dep_kind]}", f'tooltip="{edge.dep_kind.name}"']
        if edge.loop_distance:
            parts += [f'label="{edge.loop_distance}"', "constraint=false"]
        if i in hot:
            parts += [f'color="{RED}"', "penwidth=2.4"]
        lines.append(f"  n{edge.producer_idx} -> n{edge.consumer_idx} [{', '.join(parts)}];")
    return "\n".join([*lines, "}"]) + "\n"


def graph_svg(body: Sequence[Node], edges: Sequence[DepEdge], *, name: str = "body") -> str:
    """The graph as an SVG file: ops in layers of same-iteration dependence, left to right."""
    check_graph(body, edges)
    critical = critical_recurrence(body, edges)
    places = layered_layout(len(body), edges)
    return _GraphPainter(body, edges, places, critical).paint(name)


def recurrence_text(body: Sequence[Node], edges: Sequence[DepEdge]) -> str:
    """The critical recurrence in one sentence."""
    critical = critical_recurrence(body, edges)
    if critical is None:
        return "no recurrence: the interval is bounded by units only"
    ops = [body[edges[i].producer_idx].label() for i in critical.edges]
    return (
        f"critical recurrence {' > '.join([*ops, ops[0]])}: {critical.latency} cycles over "
        f"{critical.distance} iteration(s), II >= {float(critical.interval):g}"
    )


def _hot_edges(critical: Recurrence | None) -> frozenset[int]:
    return frozenset(critical.edges) if critical else frozenset()


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _GraphPainter:
    """Paints the graph at given places; edges first, so that nodes cover their ends."""

    def __init__(
        self,
        body: Sequence[Node],
        edges: Sequence[DepEdge],
        places: Sequence[Point],
        critical: Recurrence | None,
    ) -> None:
        self.body, self.edges = body, edges
        self.places = places
        self.hot = _hot_edges(critical)
        longest = max((len(f"{i} {op.label()}") for i, op in enumerate(body)), default=0)
        self.node = max(NODE_W, LETTER * longest + 14)  # wide enough for every label
        self.step = self.node + BETWEEN
        self.out = Drawing()

    def paint(self, name: str) -> str:
        columns = max((p.layer for p in self.places), default=0) + 1
        rows = max((p.row for p in self.places), default=0) + 1
        words = recurrence_text(self.body, self.edges)
        width = max(40 + columns * self.step - BETWEEN, 560, 24 + 6.2 * len(words))
        self.out.text(12, 22, f"{name}: {len(self.body)} ops, {len(self.edges)} edges", "h")
        self.out.text(12, 40, words, "dim")
        self._legend()
        for i in sorted(range(len(self.edges)), key=lambda i: (i in self.hot, i)):
            self._edge(i)
        hot = {self.edges[i].producer_idx for i in self.hot}
        for i, op in enumerate(self.body):
            self._node(i, op, i in hot)
        height = TOP + rows * STEP_Y + 30
        return self.out.document(width, height, _STYLE, f"Dependences of {name}", _ARROWS)

    def _legend(self) -> None:
        x = 12.0
        for kind in dict.fromkeys(edge.dep_kind for edge in self.edges):
            self.out.line(x, 55, x + 26, 55, "edge", stroke_dasharray=_DASH[kind] or "none")
            self.out.text(x + 32, 59, _WORDS[kind], "dim")
            x += 52 + 6.2 * len(_WORDS[kind])
        if any(edge.loop_distance for edge in self.edges):
            self.out.line(x, 55, x + 26, 55, "edge far")
            self.out.text(x + 32, 59, "loop-carried, with its distance", "dim")

    def _corner(self, index: int) -> tuple[float, float]:
        place = self.places[index]
        return 20 + place.layer * self.step, TOP + place.row * STEP_Y

    def _node(self, index: int, op: Node, hot: bool) -> None:
        x, y = self._corner(index)
        title = f"op {index}: {op.label()}, {op_word(op.role.name)}, latency {op.latency}"
        css = "hotnode" if hot else "node"
        fill = op_colour(op.role.name)
        self.out.rect(x, y, self.node, NODE_H, css, rx="5", fill=fill, title=title)
        self.out.text(x + self.node / 2, y + 16, f"{index} {op.label()}", "in")

    def _edge(self, number_: int) -> None:
        edge = self.edges[number_]
        (ax, ay), (bx, by) = self._corner(edge.producer_idx), self._corner(edge.consumer_idx)
        css = (
            "edge"
            + (" far" if edge.loop_distance else "")
            + (" hot" if number_ in self.hot else "")
        )
        producer, consumer = self.body[edge.producer_idx], self.body[edge.consumer_idx]
        title = (
            f"{edge.dep_kind.name}, distance {edge.loop_distance}: {producer.label()} -> "
            f"{consumer.label()}"
        )
        path, label = (_arc if edge.loop_distance else _forward)(ax, ay, bx, by, self.node)
        tip = "hot" if number_ in self.hot else "far" if edge.loop_distance else "tip"
        attrs = {"marker_end": f"url(#{tip})", "title": title}
        if _DASH[edge.dep_kind]:
            attrs["stroke_dasharray"] = _DASH[edge.dep_kind]
        self.out.path(path, css, **attrs)
        if edge.loop_distance:
            self.out.text(*label, str(edge.loop_distance), "d")


def _forward(
    ax: float, ay: float, bx: float, by: float, wide: float
) -> tuple[str, tuple[float, float]]:
    """From the right side of one node to the left side of the next, and a place for a label."""
    x0, y0, x1, y1 = ax + wide, ay + NODE_H / 2, bx, by + NODE_H / 2
    bend = max(30.0, (x1 - x0) / 2)
    path = _cubic((x0, y0), (x0 + bend, y0), (x1 - bend, y1), (x1, y1))
    return path, ((x0 + x1) / 2, (y0 + y1) / 2 - 3)


def _arc(
    ax: float, ay: float, bx: float, by: float, wide: float
) -> tuple[str, tuple[float, float]]:
    """Over the tops or under the feet of both nodes: nothing like a forward edge."""
    over = by <= ay
    x0, x1 = ax + wide * 0.62, bx + wide * 0.38
    y0, y1 = (ay, by) if over else (ay + NODE_H, by + NODE_H)
    reach = 20 + 0.1 * abs(x1 - x0)
    lift = -reach if over else reach
    path = _cubic((x0, y0), (x0, y0 + lift), (x1, y1 + lift), (x1, y1))
    return path, ((x0 + x1) / 2, (y0 + y1) / 2 + 0.75 * lift - 2)


def _cubic(*points: tuple[float, float]) -> str:
    a, b, c, d = (f"{number(x)} {number(y)}" for x, y in points)
    return f"M{a}C{b} {c} {d}"


_ARROWS = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    for name, colour in (("tip", "#6b7785"), ("far", "#9a8fb5"), ("hot", RED))
)
