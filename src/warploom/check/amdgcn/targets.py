"""Instructions that only one of the targets has."""

import re
from collections.abc import Iterator

from warploom.check.amdgcn.reader import Instruction, Kernel
from warploom.check.amdgcn.uses import is_dma

_ONLY_GFX950 = re.compile(
    r"""ds_read_b\d+_tr_b\d+$ | v_permlane(16|32)_swap_b32$
    | v_mfma_(scale_)?f32_\d+x\d+x\d+_f8f6f4$
    | v_mfma_f32_(16x16x32|32x32x16)_(f16|bf16)$ | v_mfma_i32_(16x16x64|32x32x32)_i8$
    | v_cvt_scalef32_ | v_cvt_pk_bf16_f32$ | v_cvt_pk_f16_f32$ | v_bitop3_b(16|32)$
    | v_(minimum|maximum)3_f32$ | v_pk_(minimum|maximum)3_f16$ | v_prng_b32$ | v_ashr_pk_
    | v_cvt_sr_(pk_)?bf16 | v_dot2c?_f32_bf16$ | buffer_atomic_pk_add_bf16$
    | v_smfmac_f32_(16x16x64|32x32x32)_b?f16$ | v_smfmac_i32_(16x16x128|32x32x64)_i8$
    | v_smfmac_f32_(16x16x128|32x32x64)_[fb][pf]8_[fb][pf]8$""",
    re.VERBOSE,
)
_ONLY_GFX942 = re.compile(r"v_mfma_f32_(16x16x8|32x32x4)_?xf32$")
_ELSEWHERE = re.compile(
    r"""s_wait_\w+$ | s_waitcnt_\w+$ | s_barrier_\w+$ | s_delay_alu$ | s_singleuse_vdst$
    | v_mad_mix | image_ | v_wmma_ | v_swmmac_ | v_permlane(x?16|64)_b32$
    | s_clause$ | s_inst_prefetch$""",
    re.VERBOSE,
)  # of other generations: waits, barriers, images
_WIDE = re.compile(r"_dwordx[34]$")


def foreign_instructions(kernel: Kernel) -> Iterator[Instruction]:
    """Instructions of the kernel that its target does not have."""
    for i in kernel.instructions:
        if _ELSEWHERE.match(i.mnemonic) or (i.flag("gds") and "gws" not in i.mnemonic):
            yield i
        elif kernel.target == "gfx942":
            wide = is_dma(i) and _WIDE.search(i.mnemonic)
            if wide or _ONLY_GFX950.match(i.mnemonic):
                yield i
        elif _ONLY_GFX942.match(i.mnemonic):
            yield i
