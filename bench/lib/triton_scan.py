"""A chunked scan in Triton, in the forms its users have.

``states``: what the public libraries for linear attention launch: one kernel walks the chunks and
leaves the state before each in memory (16 bits), a second one computes all chunks at once from
them. ``passing``: what those for state-space models launch: every chunk's own sum, a pass that adds
them up, then the outputs. ``fused``: one kernel that keeps the state in registers, which libraries
do not ship for this forward pass; it moves the fewest bytes and has the fewest programs.

Each is timed with a few settings, and the best is taken. ``shared`` heads: q and k of one head
serve ``h // g`` heads (Mamba-2's groups).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _fused(
    q_ptr,
    k_ptr,
    v_ptr,
    grown_ptr,
    out_ptr,
    last_ptr,
    chunks,
    share,
    T: tl.constexpr,  # noqa: N803
    D: tl.constexpr,  # noqa: N803
    E: tl.constexpr,  # noqa: N803
    BE: tl.constexpr,  # noqa: N803
):
    head = tl.program_id(0).to(tl.int64)
    t, d, e = tl.arange(0, T), tl.arange(0, D), tl.program_id(1) * BE + tl.arange(0, BE)
    state = tl.zeros((D, BE), dtype=tl.float32)
    for c in range(chunks):
        row = head * chunks * T + c * T
        common = head // share * chunks * T + c * T
        q = tl.load(q_ptr + (common + t)[:, None] * D + d[None, :])
        k = tl.load(k_ptr + (common + t)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + (row + t)[:, None] * E + e[None, :])
        grown = tl.load(grown_ptr + row + t)
        end = tl.load(grown_ptr + row + T - 1)
        p = tl.dot(q, tl.trans(k)) * tl.exp(grown[:, None] - grown[None, :])
        p = tl.where(t[:, None] >= t[None, :], p, 0.0)
        o = tl.dot(q, state.to(q.dtype)) * tl.exp(grown)[:, None]
        o = tl.dot(p.to(v.dtype), v, o)
        tl.store(out_ptr + (row + t)[:, None] * E + e[None, :], o.to(v.dtype))
        w = (v * tl.exp(end - grown)[:, None]).to(v.dtype)
        state = tl.dot(tl.trans(k), w, state * tl.exp(end))
    tl.store(last_ptr + head * D * E + d[:, None] * E + e[None, :], state)


@triton.jit
def _states(
    k_ptr,
    v_ptr,
    grown_ptr,
    states_ptr,
    last_ptr,
    chunks,
    share,
    T: tl.constexpr,  # noqa: N803
    D: tl.constexpr,  # noqa: N803
    E: tl.constexpr,  # noqa: N803
    BD: tl.constexpr,  # noqa: N803
    BE: tl.constexpr,  # noqa: N803
):
    """The state before every chunk, chunk after chunk."""
    head = tl.program_id(2).to(tl.int64)
    t = tl.arange(0, T)
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    e = tl.program_id(1) * BE + tl.arange(0, BE)
    at = d[:, None] * E + e[None, :]
    state = tl.zeros((BD, BE), dtype=tl.float32)
    for c in range(chunks):
        row = head * chunks * T + c * T
        common = head // share * chunks * T + c * T
        tl.store(states_ptr + (head * chunks + c) * D * E + at, state.to(k_ptr.dtype.element_ty))
        k = tl.load(k_ptr + (common + t)[None, :] * D + d[:, None])
        v = tl.load(v_ptr + (row + t)[:, None] * E + e[None, :])
        grown = tl.load(grown_ptr + row + t)
        end = tl.load(grown_ptr + row + T - 1)
        w = (v * tl.exp(end - grown)[:, None]).to(v.dtype)
        state = tl.dot(k, w, state * tl.exp(end))
    tl.store(last_ptr + head * D * E + at, state)


@triton.jit
def _sums(
    k_ptr,
    v_ptr,
    grown_ptr,
    sums_ptr,
    chunks,
    share,
    T: tl.constexpr,  # noqa: N803
    D: tl.constexpr,  # noqa: N803
    E: tl.constexpr,  # noqa: N803
    BD: tl.constexpr,  # noqa: N803
    BE: tl.constexpr,  # noqa: N803
):
    """What every chunk adds to the state, all chunks at once."""
    c, head = tl.program_id(1), tl.program_id(2).to(tl.int64)
    t = tl.arange(0, T)
    d = tl.program_id(0) // (E // BE) * BD + tl.arange(0, BD)
    e = tl.program_id(0) % (E // BE) * BE + tl.arange(0, BE)
    row = head * chunks * T + c * T
    common = head // share * chunks * T + c * T
    k = tl.load(k_ptr + (common + t)[None, :] * D + d[:, None])
    v = tl.load(v_ptr + (row + t)[:, None] * E + e[None, :])
    grown = tl.load(grown_ptr + row + t)
    end = tl.load(grown_ptr + row + T - 1)
    w = (v * tl.exp(end - grown)[:, None]).to(v.dtype)
    at = (head * chunks + c) * D * E + d[:, None] * E + e[None, :]
    tl.store(sums_ptr + at, tl.dot(k, w))


@triton.jit
def _pass(
    sums_ptr,
    grown_ptr,
    states_ptr,
    last_ptr,
    chunks,
    T: tl.constexpr,  # noqa: N803
    N: tl.constexpr,  # noqa: N803
    BN: tl.constexpr,  # noqa: N803
):
    """The state before every chunk out of their sums, element by element."""
    head = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    state = tl.zeros((BN,), dtype=tl.float32)
    for c in range(chunks):
        at = (head * chunks + c) * N + n
        tl.store(states_ptr + at, state.to(states_ptr.dtype.element_ty))
        end = tl.load(grown_ptr + (head * chunks + c) * T + T - 1)
        state = state * tl.exp(end) + tl.load(sums_ptr + at)
    tl.store(last_ptr + head * N + n, state)


@triton.jit
def _outputs(
    q_ptr,
    k_ptr,
    v_ptr,
    grown_ptr,
    states_ptr,
    out_ptr,
    chunks,
    share,
    T: tl.constexpr,  # noqa: N803
    D: tl.constexpr,  # noqa: N803
    E: tl.constexpr,  # noqa: N803
    BD: tl.constexpr,  # noqa: N803
    BE: tl.constexpr,  # noqa: N803
):
    """All chunks at once, from the states before them."""
    c, head = tl.program_id(1), tl.program_id(2).to(tl.int64)
    t, e = tl.arange(0, T), tl.program_id(0) * BE + tl.arange(0, BE)
    row = head * chunks * T + c * T
    common = head // share * chunks * T + c * T
    o = tl.zeros((T, BE), dtype=tl.float32)
    p = tl.zeros((T, T), dtype=tl.float32)
    for first in range(0, D, BD):
        d = first + tl.arange(0, BD)
        q = tl.load(q_ptr + (common + t)[:, None] * D + d[None, :])
        k = tl.load(k_ptr + (common + t)[None, :] * D + d[:, None])
        h = tl.load(states_ptr + (head * chunks + c) * D * E + d[:, None] * E + e[None, :])
        o = tl.dot(q, h, o)
        p = tl.dot(q, k, p)
    grown = tl.load(grown_ptr + row + t)
    p = tl.where(t[:, None] >= t[None, :], p * tl.exp(grown[:, None] - grown[None, :]), 0.0)
    v = tl.load(v_ptr + (row + t)[:, None] * E + e[None, :])
    o = tl.dot(p.to(v.dtype), v, o * tl.exp(grown)[:, None])
    tl.store(out_ptr + (row + t)[:, None] * E + e[None, :], o.to(v.dtype))


class Scan:
    """Calls on q, k [B, G, C, T, D], v [B, H, C, T, E] and sums of gates [B, H, C, T]."""

    def __init__(self, q, k, v, grown):
        self.q, self.k, self.v, self.grown = q, k, v, grown
        self.b, self.h, self.c, self.t, self.e = v.shape
        self.d = q.shape[-1]
        self.share = self.h // q.shape[1]
        self.sizes = (self.c, self.share, self.t, self.d, self.e)

    def _new(self, *shape, dtype=torch.float32):
        return torch.empty(*shape, device=self.v.device, dtype=dtype)

    def fused(self, be, warps, stages):
        out, last = torch.empty_like(self.v), self._new(self.b, self.h, self.d, self.e)
        given = (self.q, self.k, self.v, self.grown, out, last, *self.sizes, be)
        _fused[self.b * self.h, self.e // be](*given, num_warps=warps, num_stages=stages)
        return out, last

    def _last(self, states, bd, be, warps, stages):
        out = torch.empty_like(self.v)
        grid = (self.e // be, self.c, self.b * self.h)
        given = (self.q, self.k, self.v, self.grown, states, out, *self.sizes, bd, be)
        _outputs[grid](*given, num_warps=warps, num_stages=stages)
        return out

    def states(self, first, second):
        bd, be, warps, stages = first
        states = self._new(self.b, self.h, self.c, self.d, self.e, dtype=self.v.dtype)
        last = self._new(self.b, self.h, self.d, self.e)
        grid = (self.d // bd, self.e // be, self.b * self.h)
        given = (self.k, self.v, self.grown, states, last, *self.sizes, bd, be)
        _states[grid](*given, num_warps=warps, num_stages=stages)
        return self._last(states, *second), last

    def passing(self, first, second):
        bd, be, warps, stages = first
        shape = (self.b, self.h, self.c, self.d, self.e)
        sums, states = self._new(*shape), self._new(*shape, dtype=self.v.dtype)
        last, n = self._new(self.b, self.h, self.d, self.e), self.d * self.e
        grid = (self.d // bd * (self.e // be), self.c, self.b * self.h)
        given = (self.k, self.v, self.grown, sums, *self.sizes, bd, be)
        _sums[grid](*given, num_warps=warps, num_stages=stages)
        grid = (n // 512, self.b * self.h)
        _pass[grid](sums, self.grown, states, last, self.c, self.t, n, 512, num_warps=4)
        return self._last(states, *second), last

    def best(self, form):
        """The quickest call of a form, and its setting."""
        d, e = self.d, self.e
        wide = min(e, 64)
        if form == "fused":
            settings = [(wide, 4, 3), (wide, 8, 2), (wide // 2, 4, 3), (e, 8, 2)]
        else:  # both kernels are tried apart
            firsts = [(min(d, 64), wide, 4, 3), (d, wide, 4, 3), (d, wide, 8, 3), (64, 32, 4, 3)]
            seconds = [(min(d, 64), wide, 4, 3), (d, wide, 4, 2), (d, wide, 8, 2), (64, e, 8, 3)]
            first, _ = self._quickest(form, [(f, seconds[0]) for f in firsts])
            settings = [(first, s) for s in seconds]
        chosen = self._quickest(form, settings)
        return (lambda: getattr(self, form)(*chosen)), chosen

    def _quickest(self, form, settings):
        found = []
        for setting in dict.fromkeys(settings):
            try:
                getattr(self, form)(*setting)
                torch.cuda.synchronize()
            except Exception as error:  # a setting that does not fit is no contestant
                print(f"  {form} {setting}: {str(error)[:60]}", flush=True)
                continue
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(5):
                getattr(self, form)(*setting)
            end.record()
            torch.cuda.synchronize()
            found.append((start.elapsed_time(end), setting))
        return min(found, key=lambda f: f[0])[1]
