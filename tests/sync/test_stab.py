"""The stabbing solver against trying everything."""

from itertools import combinations_with_replacement

from hypothesis import given, settings, strategies as st

from warploom.sync.counters.barriers import Arc, stab

CIRCLE = st.integers(1, 7)


@st.composite
def problems(draw):
    size = draw(CIRCLE)
    arcs = draw(
        st.lists(
            st.builds(Arc, st.integers(0, size - 1), st.integers(1, 2 * size), st.integers(-1, 3)),
            max_size=6,
        )
    )
    return arcs, size


def everything(arcs, size):
    for n in range(30):
        good = {
            chosen
            for chosen in combinations_with_replacement(range(size), n)
            if all(sum(a.hits(c, size) for c in chosen) >= a.demand for a in arcs)
        }
        if good:
            return n, good
    raise AssertionError


@settings(max_examples=150, deadline=None)
@given(problems())
def test_smallest_count_and_all_sets(problem):
    arcs, size = problem
    count, sets = everything(arcs, size)
    found = stab(arcs, size, limit=10_000)
    assert found.count == count
    assert found.complete
    assert set(found.sets) == sets


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 2))
def test_extra_points_still_stab(problem, extra):
    arcs, size = problem
    found = stab(arcs, size, extra=extra, limit=20)
    assert found.sets
    assert found.count == everything(arcs, size)[0] + extra
    for chosen in found.sets:
        assert len(chosen) == found.count
        assert all(sum(a.hits(c, size) for c in chosen) >= a.demand for a in arcs)


def test_a_cut_search_still_proves_the_count():
    arcs = [Arc(i, 6, 2) for i in range(24)]
    found = stab(arcs, 24, limit=1)
    assert found.count == 8
    assert not found.complete
    assert len(found.sets) == 1


def test_an_arc_without_places_has_no_solution():
    assert stab([Arc(0, 0, 1)], 3) is None
    assert stab([Arc(0, 0, 0)], 3).sets == ((),)
