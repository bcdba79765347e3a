"""``struct Call`` of an emitted attention kernel for host code, by ctypes."""

from __future__ import annotations

import ctypes as c

from warploom.launch.attention_launch import divisor


class Divisor(c.Structure):
    """``struct Divisor``."""

    _fields_ = (("value", c.c_uint), ("multiplier", c.c_uint), ("shift", c.c_uint))

    @classmethod
    def of(cls, value):
        return cls(*divisor(value))


class Call(c.Structure):
    """``struct Call``."""

    _fields_ = (
        ("out", c.c_void_p),
        ("lse", c.c_void_p),
        ("q_starts", c.c_void_p),
        ("k_starts", c.c_void_p),
        ("out_row", c.c_longlong),
        ("out_head", c.c_longlong),
        ("out_batch", c.c_longlong),
        ("batches", c.c_int),
        ("share", c.c_int),
        ("queries", c.c_int),
        ("keys", c.c_int),
        ("align_end", c.c_int),
        ("scale", c.c_float),
        ("visits_of_head", Divisor),
        ("heads", Divisor),
    )
