"""Tile kernels of two products around vector work, attention first of all, on gfx950.

text = attention_text(kernel)
tile = attention_tile(text)
made = emit_attention(attention_schedule(text, tile).document, tile, text)
"""

from warploom.emit.gfx950.attention.emit import emit_attention, fit_attention
from warploom.emit.gfx950.attention.plan import AttentionShape, attention_tile
from warploom.emit.gfx950.attention.registers import held_registers
from warploom.emit.gfx950.attention.schedule import attention_schedule
from warploom.emit.gfx950.attention.text import AttentionText, attention_text
from warploom.emit.gfx950.attention.trial import try_kernel
