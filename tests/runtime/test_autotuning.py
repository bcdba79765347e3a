"""`wl.autotune` and `kernel.benchmark`: calls run on the CPU, times are told to them."""

import numpy as np
import pytest

import warploom as wl
from warploom.errors import ConfigError, WarploomError
from warploom.runtime.tuning import benchmark


@wl.kernel
def doubled(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * 2.0


X = np.arange(15, dtype=np.float32).reshape(3, 5)


def told(times):
    asked = []

    def measure(calls):
        asked.append(len(calls))
        for call in calls:
            call()
        return times[: len(calls)]

    return measure, asked


def test_the_quickest_configuration_is_taken_and_kept():
    measure, asked = told([3.0, 1.0, 2.0])
    configs = [{"m": 8}, {"m": 16}, {"m": 32}]
    tuned = wl.autotune(doubled, configs, measure=measure)
    with wl.interpreting(target="h200", types="f32"):
        assert (tuned(X) == 2 * X).all()
        assert (tuned(X) == 2 * X).all()
        assert (tuned(X[:2]) == 2 * X[:2]).all()
    assert asked == [3, 3]  # once for each set of shapes
    assert set(map(str, tuned.chosen.values())) == {"{'m': 16}"}
    assert tuned.signature is doubled.signature


def test_over_a_kernel_and_what_cannot_be_built_is_passed_over():
    measure, asked = told([1.0, 2.0])
    tuned = wl.autotune([{"m": 100_000}, {"m": 8}], measure=measure)(doubled)
    with wl.interpreting(target="h200", types="f32"):
        assert (tuned(X) == 2 * X).all()
    assert asked == []  # nothing to choose between
    with pytest.raises(ConfigError, match="no configuration of kernel doubled"):  # noqa: SIM117
        with wl.interpreting(target="h200", types="f32"):
            wl.autotune(doubled, [{"m": 100_000}], measure=measure)(X)
    with pytest.raises(ConfigError, match="'zz' cannot be pinned"):  # noqa: SIM117
        with wl.interpreting(target="h200", types="f32"):
            wl.autotune(doubled, [{"zz": 1}, {"m": 8}], measure=measure)(X)
    with pytest.raises(ConfigError, match="without configurations"):
        wl.autotune(doubled)
    with pytest.raises(ConfigError, match="no kernel"):
        wl.autotune([{"m": 8}])(len)


def test_benchmark_times_a_kernel_beside_functions():
    measure, asked = told([2.0, 3.0])
    with wl.interpreting(target="h200", types="f32"):
        found = benchmark(doubled, (X,), {}, against={"numpy": lambda x: 2 * x}, measure=measure)
    assert asked == [2]
    assert str(found) == "doubled 2.0000 ms; numpy 3.0000 ms (1.50 x)"
    with pytest.raises(WarploomError):
        doubled.benchmark(X)  # no GPU, or an array that is not on one
