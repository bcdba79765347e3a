"""A NumPy interpreter of gfx950 assembly text, with adversarial asynchrony.

It reads assembly and nothing else: no schedule, no plan, no code of the back end. Waves run in any
order between barriers; DMA writes and LDS reads take effect as late, as early or as randomly as the
counters allow. Hazards inside a wave that the assembler resolves (``s_nop``) are not modelled.
"""

from warploom.emit.gfx950.emulator.gemm import (
    Floats,
    emulate_gemm,
    emulate_launch,
    integer_matrix,
    normal_matrix,
)
from warploom.emit.gfx950.emulator.operands import (
    EARLY,
    LATE,
    STARVED,
    TRAMPLED,
    EmulationError,
    Order,
    Timing,
    random_timing,
    timing_named,
)
