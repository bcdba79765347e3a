"""Hypothesis strategies: small random loop bodies in every shape the schedulers must take."""

from hypothesis import strategies as st

from warploom.ir.schedule_ops import DepEdge, DepKind, OpDesc, OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody

KINDS = (
    (ResourceKind.MMA_UNIT, OpRole.COMPUTE),
    (ResourceKind.VALU, OpRole.VALU_COMPUTE),
    (ResourceKind.VALU, OpRole.COMPUTE),
    (ResourceKind.GLOBAL_MEM, OpRole.GLOBAL_LOAD),
    (ResourceKind.LDS, OpRole.FRAGMENT_LOAD),
    (ResourceKind.LDS, OpRole.SHARED_STORE),
    (ResourceKind.SCALAR, OpRole.SYNC),
    (ResourceKind.NONE, OpRole.NONE),
)


@st.composite
def ops(draw, registers=True):
    resource, role = draw(st.sampled_from(KINDS))
    return OpDesc.op(
        draw(st.integers(0, 5)),
        resource,
        draw(st.sampled_from((0, 1, 4, 10, 16, 24))),
        role,
        vgpr_def=draw(st.sampled_from((0, 2, 4, 8))) if registers else 0,
        vgpr_kill=draw(st.sampled_from((0, 0, 2, 4, 8))) if registers else 0,
    )


@st.composite
def bodies(draw, max_ops=8):
    """An acyclic body; no edge leads back to the first half, inside a half any way will do."""
    registers = draw(st.booleans())
    nodes = draw(st.lists(ops(registers=registers), min_size=0, max_size=max_ops))
    n = len(nodes)
    half = n // 2
    rank = list(range(n))
    if draw(st.booleans()):
        rank = draw(st.permutations(range(half))) + draw(st.permutations(range(half, n)))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2 * n, unique=True)) if pairs else []
    edges = [
        DepEdge(rank[i], rank[j], draw(st.sampled_from((DepKind.FLOW, DepKind.ANTI))), 0)
        for i, j in chosen
    ]
    carried = draw(st.lists(st.sampled_from(pairs), max_size=2)) if pairs else []
    edges += [DepEdge(j, i, DepKind.FLOW, 1) for i, j in carried]
    return LoopBody.of(nodes, edges)
