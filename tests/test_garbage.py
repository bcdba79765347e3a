"""Thresholds of the garbage collector: raised inside, back outside."""

import gc
import threading

import pytest

from warploom.garbage import MANY, few_collections


@pytest.fixture(autouse=True)
def usual():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_what_was_set_comes_back_when_the_last_block_ends():
    with few_collections():
        assert gc.get_threshold() == (MANY, 10, 10)
        with few_collections():
            assert gc.get_threshold() == (MANY, 10, 10)
        assert gc.get_threshold() == (MANY, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_errors_and_threads_that_end_in_another_order():
    with pytest.raises(ValueError, match="x"), few_collections():
        raise ValueError("x")
    assert gc.get_threshold() == (700, 10, 10)
    first, second = few_collections(), few_collections()
    first.__enter__()
    other = threading.Thread(target=second.__enter__)
    other.start()
    other.join()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (MANY, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (2 * MANY, 10, 10)])
def test_who_collects_less_or_never_is_left_alone(own):
    gc.set_threshold(*own)
    with few_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_is_set_meanwhile_stays():
    with few_collections():
        gc.set_threshold(5, 5, 5)
    assert gc.get_threshold() == (5, 5, 5)
