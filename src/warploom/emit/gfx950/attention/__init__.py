"""Tile kernels of two products around vector work, attention first of all, on gfx950."""

from warploom.emit.gfx950.attention.emit import emit_attention
from warploom.emit.gfx950.attention.plan import AttentionPlan, attention_plan
from warploom.emit.gfx950.attention.schedule import attention_schedule
from warploom.emit.gfx950.attention.text import AttentionText, attention_text

__all__ = [
    "AttentionPlan",
    "AttentionText",
    "attention_plan",
    "attention_schedule",
    "attention_text",
    "emit_attention",
]
