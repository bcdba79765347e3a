"""The seed's model: relative prices its schedules were ordered with. Cycles of no chip.

Everything that shows a figure in them calls it "seed"; nothing adds them to cycles of a chip.
"""

from warploom.dataclass import dataclass
from warploom.targets.figures import Origin, figure

NAME = "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedModel:
    """Latencies by what an op does."""

    name: str = NAME
    load: int = figure(200, "seed cycles", Origin.SEED, "a tile from memory")
    fragment: int = figure(20, "seed cycles", Origin.SEED, "a fragment from LDS; also LDS stores")
    mma: int = figure(16, "seed cycles", Origin.SEED, "one product of the double-buffer kernels")
    block: int = figure(64, "seed cycles", Origin.SEED, "all products of the single-buffer kernel")
    memory_port: int = figure(8, "seed cycles", Origin.SEED, "a load or read holds its port")
    issue: int = figure(1, "seed cycles", Origin.SEED, "an instruction")
    barrier: int = figure(4, "seed cycles", Origin.SEED, "a barrier")


def seed_model() -> SeedModel:
    """The model."""
    return SeedModel()
