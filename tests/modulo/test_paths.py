"""Longest paths, positive cycles and the least interval, against all-pairs closure."""

from hypothesis import given, settings, strategies as st

from warploom.modulo.bounds.paths import Cycle, Paths, distances, rec_mii
from warploom.modulo.bounds.system import Arc

NODES = 6
arcs_of = st.lists(
    st.builds(
        lambda src, dst, latency, distance: Arc(src, dst, latency, distance, "flow"),
        st.integers(0, NODES - 1),
        st.integers(0, NODES - 1),
        st.integers(0, 40),
        st.integers(-1, 4),
    ),
    max_size=16,
)


@settings(max_examples=150, deadline=None)
@given(arcs_of, st.integers(1, 60), st.permutations(range(NODES)))
def test_times_are_the_longest_paths_and_refusals_are_cycles(arcs, ii, order):
    found, close = Paths(NODES, arcs, order).at(ii), distances(NODES, arcs, ii)
    if isinstance(found, Cycle):
        assert close is None
        assert all(a.dst == b.src for a, b in zip(found, (*found[1:], found[0]), strict=True))
        assert len({a.src for a in found}) == len(found)
        assert sum(a.latency - a.distance * ii for a in found) > 0
    else:
        assert close is not None
        assert found == close.max(axis=0).tolist()


@settings(max_examples=150, deadline=None)
@given(arcs_of)
def test_the_least_interval_is_the_first_that_no_cycle_forbids(arcs):
    ii, cycle = rec_mii(NODES, arcs)
    latency, distance = sum(a.latency for a in cycle), sum(a.distance for a in cycle)
    if not ii:
        assert distance <= 0
        assert distances(NODES, arcs, 300) is None
        return
    assert distances(NODES, arcs, ii) is not None
    assert ii == 1 or distances(NODES, arcs, ii - 1) is None
    assert not cycle or -(-latency // distance) == ii


def test_a_cycle_hidden_after_a_long_way_is_found():
    """Arcs replaced on the way must not be taken for a cycle, nor a cycle for them."""
    n = 40
    chain = [Arc(v, v + 1, 3, 0, "flow") for v in range(n - 1)]
    chain += [Arc(v, v + 2, 7, 0, "flow") for v in range(n - 2)]
    backwards = tuple(reversed(range(n)))
    assert Paths(n, chain, backwards).at(5)[-1] == 19 * 7 + 3
    back = Arc(n - 1, 0, 1, 1, "carried")
    assert isinstance(Paths(n, [*chain, back], backwards).at(19 * 7 + 3), Cycle)
    assert rec_mii(n, [*chain, back])[0] == 19 * 7 + 4
