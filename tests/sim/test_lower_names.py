"""Names of channels in the simulator's storage."""

from warploom.sim.lower import _letters


def test_every_channel_has_a_name_of_its_own():
    names = [_letters(c) for c in range(100)]
    assert names[:2] == ["A", "B"]
    assert len(set(names)) == 100
