"""On a Hopper GPU: fused products, the scan and attention with functions against float64."""

from __future__ import annotations

from itertools import pairwise

import pytest

import warploom
from tests.runtime import flex_cases
from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.errors import KernelCallError

pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
torch = pytest.importorskip("torch")
LIMIT = 6e-3


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def close(found, wanted, limit=LIMIT):
    assert torch.isfinite(found).all()
    error = (found.double() - wanted).norm() / wanted.norm().clamp_min(1e-9)
    assert error < limit, error.item()


@pytest.mark.parametrize("shape", [(4096, 1024, 512), (129, 200, 72)], ids=str)
def test_swiglu(shape):
    m, n, k = shape
    x, w = randn(m, k), randn(2 * n, k)
    gate, up = (x.double() @ h.double().T for h in (w[0::2], w[1::2]))
    silu, gelu = torch.nn.functional.silu, torch.nn.functional.gelu
    close(warploom.swiglu(x, w), silu(gate) * up)
    wanted = gelu(gate) * up
    close(warploom.swiglu(x, w[0::2].contiguous(), w[1::2], activation="gelu"), wanted)


@pytest.mark.parametrize("sizes", [(5, 0, 300, 128, 67), (1,), (0, 0, 9)], ids=str)
def test_grouped(sizes):
    starts = torch.tensor([0, *sizes], device="cuda").cumsum(0).int()
    e, t, n, k = len(sizes), sum(sizes), 320, 192
    x, w, up = randn(t, k), randn(e, n, k), randn(e, n, k)
    bounds = starts.tolist()
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    y = torch.cat([x[r].double() @ w[i].double().T for i, r in enumerate(parts)])
    u = torch.cat([x[r].double() @ up[i].double().T for i, r in enumerate(parts)])
    close(warploom.grouped_gemm(x, w, starts), y)
    close(warploom.grouped_gemm(x, w, starts, up=up), torch.nn.functional.silu(y) * u)
    few = randn(40, k)
    picked = torch.randint(-1, 41, (t,), device="cuda").int()
    inside = (picked >= 0) & (picked < 40)
    lies = few[picked.clamp(0, 39).long()].double() * inside[:, None]
    z, v = (torch.cat([lies[r] @ m[i].double().T for i, r in enumerate(parts)]) for m in (w, up))
    close(warploom.grouped_gemm(few, w, starts, tokens=picked), z)
    gated = torch.nn.functional.silu(z) * v
    close(warploom.grouped_gemm(few, w, starts, tokens=picked, up=up), gated)
    g = randn(t, n)
    back = torch.cat([g[r].double() @ w[i].double() for i, r in enumerate(parts)])
    close(warploom.grouped_gemm(g, w, starts, transposed=True), back)
    grads = torch.stack([g[r].double().T @ x[r].double() for r in parts])
    close(warploom.grouped_gemm_weights(g, x, starts), grads)
    tokens = torch.randint(-1, 40, (t,), device="cuda").int()
    weight, kept = torch.rand(t, device="cuda"), tokens >= 0
    for kind in (torch.float32, torch.bfloat16):
        sums = torch.randn(40, n, device="cuda").to(kind)
        wanted = sums.double().index_add(
            0, tokens[kept].long(), (y * weight[:, None].double())[kept]
        )
        warploom.grouped_gemm(x, w, starts, rows=tokens, weight=weight, out=sums)
        close(sums, wanted, 2 * LIMIT)  # bf16 sums are rounded with every row


def test_the_gradient_of_groups():
    pytest.importorskip("warploom.torch")  # registers the op
    starts = torch.tensor([0, 40, 40, 200], device="cuda").int()
    x, w = randn(200, 128).requires_grad_(), randn(3, 64, 128).requires_grad_()
    y = torch.ops.warploom.grouped_gemm(x, w, starts)
    g = randn(200, 64)
    y.backward(g)
    parts = [slice(a, b) for a, b in pairwise(starts.tolist())]
    close(x.grad, torch.cat([g[r].double() @ w[e].double() for e, r in enumerate(parts)]))
    close(w.grad, torch.stack([g[r].double().T @ x[r].double() for r in parts]))


@pytest.mark.parametrize(
    "what",
    [
        *("swiglu", "grouped", "gathered", "weights", "scaled", "quantised"),
        *("scan", "long scan", "scan of parts"),
    ],
)
def test_the_same_bits_every_time(what):
    starts = torch.tensor([0, 300, 300, 517], device="cuda").int()
    x, w = randn(517, 256), randn(384, 256)
    q = randn(1, 2, 4, 64, 128) * 0.1
    fp8, scales = x.to(torch.float8_e4m3fn), torch.rand(517, 2, device="cuda")
    packed = torch.randint(0, 256, (384, 128), device="cuda", dtype=torch.uint8)
    call = {
        "swiglu": lambda: warploom.swiglu(x, w),
        "grouped": lambda: warploom.grouped_gemm(x, w.view(3, 128, 256), starts),
        "gathered": lambda: warploom.grouped_gemm(
            x, w.view(3, 128, 256), starts, tokens=torch.arange(516, -1, -1).int().cuda()
        ),
        "weights": lambda: warploom.grouped_gemm_weights(x, x, starts),
        "scaled": lambda: warploom.gemm_block_scaled(
            fp8, scales, w.to(torch.float8_e4m3fn), scales[:3]
        ),
        "quantised": lambda: warploom.gemm_quantised(x[:9], packed, scales[:384]),
        "scan": lambda: warploom.scan(q, q, q[..., :64], -q[..., 0].float().abs().cumsum(-1))[0],
        "long scan": lambda: warploom.scan(
            *(q.view(1, 2, 2, 128, 128),) * 3, -q[..., 0].float().abs().view(1, 2, 2, 128)
        )[0],
        "scan of parts": lambda: warploom.scan(
            q, q, q, -q[..., 0].float().abs().cumsum(-1), parts=3
        )[0],
    }[what]
    first = call()
    assert all(torch.equal(first, call()) for _ in range(20))


@pytest.mark.parametrize("shape", [(300, 256, 512), (1, 128, 1024), (1100, 1152, 640)], ids=str)
def test_block_scales(shape):
    m, n, k = shape
    a, b = (randn(r, k).to(torch.float8_e4m3fn) for r in (m, n))
    sa, sb = (torch.rand(r, k // 128, device="cuda") + 0.5 for r in (m, n // 128))
    wide = sb.repeat_interleave(128, 0).repeat_interleave(128, 1).double()
    left = a.double() * sa.repeat_interleave(128, 1).double()
    close(warploom.gemm_block_scaled(a, sa, b, sb), left @ (b.double() * wide).T)


def test_block_scales_in_halves_go_into_a_part_of_a_tensor():
    """A tile stores to two places, and nowhere else; the same bits 200 times."""
    m, n, k = 4096, 4096, 512
    a, b = (torch.randn(r, k, device="cuda").to(torch.float8_e4m3fn) for r in (m, n))
    sa, sb = torch.rand(k // 128, m, device="cuda").T, torch.rand(n // 128, k // 128, device="cuda")
    first, whole = warploom.gemm_block_scaled(a, sa, b, sb), None
    for _ in range(200):
        whole = torch.full((m, n + 64), float("nan"), device="cuda", dtype=torch.bfloat16)
        warploom.gemm_block_scaled(a, sa, b, sb, out=whole[:, :n])
        assert torch.equal(whole[:, :n], first)
        assert whole[:, n:].isnan().all()
    left = a.double() * sa.double().repeat_interleave(128, 1)
    wide = sb.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    close(first, left @ (b.double() * wide).T)


@pytest.mark.parametrize("sizes", [(5, 0, 300), (5, 0, 300, 1200)], ids=str)
def test_block_scales_of_groups(sizes):
    n, k, starts = 1152, 640, torch.tensor([0, *sizes]).cumsum(0).int().cuda()
    a, b = (randn(*r, k).to(torch.float8_e4m3fn) for r in ((sum(sizes),), (len(sizes), n)))
    sa, sb = (torch.rand(*r, k // 128, device="cuda") + 0.5 for r in (a.shape[:1], (len(b), 9)))
    left = (a.double() * sa.repeat_interleave(128, 1)).split(sizes)
    wide = b.double() * sb.repeat_interleave(128, 1).repeat_interleave(128, 2)
    wanted = torch.cat([rows @ w.T for rows, w in zip(left, wide, strict=True)])
    close(warploom.gemm_block_scaled(a, sa, b, sb, starts=starts), wanted)


@pytest.mark.parametrize(
    "shape", [(1, 384, 1024), (16, 4160, 1152), (100, 384, 1024), (200, 4160, 1152)], ids=str
)
def test_quantised_weights(shape):
    m, n, k = shape
    x, scale = randn(m, k), torch.rand(n, k // 128, device="cuda")
    wide = scale.repeat_interleave(128, 1).double()
    w = torch.randint(0, 256, (n, k // 2), device="cuda", dtype=torch.uint8)
    numbers = torch.stack([w & 15, w >> 4], -1).flatten(1).double() - 8
    close(warploom.gemm_quantised(x, w, scale), x.double() @ (numbers * wide).T)
    w = randn(n, k).to(torch.float8_e4m3fn)
    close(warploom.gemm_quantised(x, w, scale), x.double() @ (w.double() * wide).T)


@pytest.mark.parametrize(
    ("shape", "g"),
    [
        ((1, 3, 5, 64, 128, 64), 3),
        ((2, 4, 3, 128, 128, 192), 2),
        ((1, 2, 4, 64, 64, 64), 1),
        ((1, 2, 17, 64, 64, 128), 1),  # the rest in parts of the sequence
        ((1, 2, 17, 64, 128, 64), 2),
        ((1, 2, 13, 128, 128, 64), 1),
    ],
)
def test_scan(shape, g):
    b, h, c, t, d, e = shape
    q, k, v = randn(b, g, c, t, d) * 0.1, randn(b, g, c, t, d) * 0.1, randn(b, h, c, t, e)
    gates = -torch.rand(b, h, c, t, device="cuda")
    out, last = warploom.scan(q, k, v, gates.cumsum(-1))
    q, k = (x.repeat_interleave(h // g, 1) for x in (q, k))
    state, rows = torch.zeros(b, h, d, e, device="cuda", dtype=torch.float64), []
    for i in range(c * t):
        at = (slice(None), slice(None), i // t, i % t)
        fresh = k[at].double()[..., None] * v[at].double()[..., None, :]
        state = state * gates[at].double().exp()[..., None, None] + fresh
        rows.append(torch.einsum("bhd,bhde->bhe", q[at].double(), state))
    close(out, torch.stack(rows, 2).reshape(b, h, c, t, e))
    close(last, state)


def test_functions_of_attention():
    b, h, s, d = 2, 4, 333, 128
    q, k, v = (randn(b, h, s, d) for _ in "qkv")
    bias = torch.randn(h, 2 * s, device="cuda")
    document = torch.randint(0, 3, (s,), device="cuda").sort().values

    def score(x, b, h, i, j):
        return 20.0 * torch.tanh((x + bias[h, i - j + s]) / 20.0)

    def visible(b, h, i, j):
        return (document[i] == document[j]) & (i >= j)

    sinks = torch.randn(h, device="cuda")
    x = q.double() @ k.double().mT * d**-0.5
    i, j = torch.arange(s, device="cuda")[:, None], torch.arange(s, device="cuda")
    x = 20 * torch.tanh((x + bias.double()[:, i - j + s]) / 20)
    x = x.masked_fill(~visible(0, 0, i, j), float("-inf"))
    close(warploom.attention(q, k, v, score=score, visible=visible), x.softmax(-1) @ v.double())
    wide = torch.cat([x, sinks.double()[:, None, None].expand(b, h, s, 1)], -1)
    wanted = wide.softmax(-1)[..., :-1] @ v.double()
    close(warploom.attention(q, k, v, score=score, visible=visible, sinks=sinks), wanted)


def plain_attention(q, k, v, score=None, seen=None):
    """In float64, head by head; rows that see nothing give 0."""
    b, h, s, d = q.shape
    share = h // k.shape[1]
    k, v = (x.double().repeat_interleave(share, 1) for x in (k, v))
    x = q.double() @ k.mT * d**-0.5
    at = [torch.arange(n, device="cuda") for n in (b, h, s, k.shape[2])]
    places = torch.meshgrid(*at, indexing="ij")
    x = score(x, *places) if score else x
    shown = seen(*places) if seen else torch.ones_like(x, dtype=torch.bool)
    p = (x - x.amax(-1, keepdim=True)).exp() * shown
    return p @ v / p.sum(-1, keepdim=True).clamp_min(1e-300)


@pytest.fixture
def cases():
    """Functions with the tensors they find by their names."""
    at = {"device": "cuda"}
    flex_cases.document = torch.randint(0, 4, (flex_cases.BATCH, 1024), **at).sort().values.int()
    flex_cases.prefix = torch.tensor([70, 400], dtype=torch.int32, **at)
    flex_cases.slopes = torch.rand(flex_cases.HEADS, **at)
    flex_cases.bias = randn(flex_cases.HEADS, 2 * flex_cases.RELATIVE)
    return flex_cases


def operands(s, t, d=128):
    b, h, g = flex_cases.BATCH, flex_cases.HEADS, flex_cases.GROUPS
    return randn(b, h, s, d), randn(b, g, t, d), randn(b, g, t, d)


@pytest.mark.parametrize("size", [128, (256, 128), (128, 384)], ids=str)
@pytest.mark.parametrize("lengths", flex_cases.LENGTHS, ids=str)
def test_blocks_of_a_mask(lengths, size, cases):
    from torch.nn.attention.flex_attention import create_block_mask

    q, k, v = operands(*lengths)
    for mask in (cases.same, cases.seen):
        blocks = create_block_mask(mask, cases.BATCH, cases.HEADS, *lengths, BLOCK_SIZE=size)
        close(warploom.attention(q, k, v, visible=blocks), plain_attention(q, k, v, None, mask))
    wanted = plain_attention(
        q, k, v, cases.falling, lambda b, h, i, j: cases.seen(b, h, i, j) & (i >= j)
    )
    close(warploom.attention(q, k, v, True, score=cases.falling, visible=blocks), wanted)


@pytest.mark.parametrize("lengths", flex_cases.LENGTHS, ids=str)
def test_blocks_without_a_function(lengths, cases):
    from torch.nn.attention.flex_attention import BlockMask

    q, k, v = operands(*lengths)
    rows, wide = (-(-n // 128) for n in lengths)
    kind = torch.randint(0, 3, (1, 1, rows, wide), device="cuda")
    lists = []
    for n in (1, 2):
        order = (kind != n).int().argsort(dim=-1, stable=True).int()
        lists += [(kind == n).sum(-1).int(), order]
    alone = BlockMask.from_kv_blocks(*lists, seq_lengths=lengths, mask_mod=cases.everything)
    close(
        warploom.attention(q, k, v, visible=alone),
        plain_attention(q, k, v, None, lambda b, h, i, j: kind[0, 0, i // 128, j // 128] > 0),
    )
    if wide > 1:
        with pytest.raises(KernelCallError, match="a block mask of"):
            warploom.attention(q, k[:, :, :-1], v[:, :, :-1], visible=alone)


@pytest.mark.parametrize("d", [64, 256])
def test_blocks_of_other_heads(d, cases):
    from torch.nn.attention.flex_attention import create_block_mask

    lengths = cases.LENGTHS[1]
    q, k, v = operands(*lengths, d)
    blocks = create_block_mask(cases.same, cases.BATCH, None, *lengths)
    close(warploom.attention(q, k, v, visible=blocks), plain_attention(q, k, v, None, cases.same))


def test_a_relative_bias(cases):
    q, k, v = operands(cases.RELATIVE, cases.RELATIVE)
    wanted = plain_attention(q, k, v, cases.relative, lambda b, h, i, j: i >= j)
    close(warploom.attention(q, k, v, True, score=cases.relative), wanted)


def test_functions_on_packed_sequences(cases):
    lengths, h, g, d = cases.PACKED_LENGTHS, cases.HEADS, cases.GROUPS, 128
    starts = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    q, k, v = (randn(sum(lengths), n, d) for n in (h, g, g))
    most = max(lengths)
    found = warploom.attention_packed(
        q, k, v, starts, starts, most, most, score=cases.alibi, visible=cases.window
    )
    for n, (a, b) in enumerate(pairwise(starts.tolist())):
        if a < b:
            one = (x[a:b].transpose(0, 1)[None] for x in (q, k, v))
            seen = lambda b, h, i, j, n=n: cases.window(n, h, i, j)  # noqa: E731
            wanted = plain_attention(*one, cases.alibi, seen)
            close(found[a:b].transpose(0, 1)[None], wanted)


@pytest.mark.parametrize("name", flex_cases.COMBINED)
def test_every_combination(name, cases):
    """Causal, heads that share keys, sinks; the same on packed sequences."""
    score, mask = cases.COMBINED[name]
    own = (lambda x, *at: 20 * torch.tanh(x / 20)) if name == "softcap" else score
    lengths, h, g, d = (300, 1, 0, 129, 390), cases.HEADS, cases.GROUPS, 64
    most, many = max(lengths), len(lengths)
    at = {"device": "cuda"}
    cases.document = torch.randint(0, 4, (many, 1024), **at).sort().values.int()
    cases.prefix = torch.tensor([70, 400, 0, 30, 200], dtype=torch.int32, **at)
    sinks = torch.randn(h, **at)

    def wanted(q, k, v, n=0):
        """With the sink as a key that has no value; of sequence ``n``."""
        x = (q.double() @ k.double().repeat_interleave(h // g, 1).mT) * d**-0.5
        batch, _, s, t = x.shape
        sizes = (batch, h, s, t)
        b, i, j = (torch.arange(sizes[a], **at) for a in (0, 2, 3))
        places = torch.meshgrid(b + n, torch.arange(h, **at), i, j, indexing="ij")
        x = own(x, *places) if own else x
        shown = places[2] >= places[3]
        shown = shown & mask(*places) if mask else shown
        x = x.masked_fill(~shown, float("-inf"))
        wide = torch.cat([x, sinks.double().view(1, h, 1, 1).expand(batch, h, s, 1)], -1)
        return wide.softmax(-1)[..., :-1] @ v.double().repeat_interleave(h // g, 1)

    q, k, v = (randn(2, n, most, d) for n in (h, g, g))
    given = {"score": score, "visible": mask, "sinks": sinks}
    close(warploom.attention(q, k, v, True, **given), wanted(q, k, v))
    starts = torch.tensor([0, *lengths], **at).cumsum(0).int()
    q, k, v = (randn(sum(lengths), n, d) for n in (h, g, g))
    found = warploom.attention_packed(q, k, v, starts, starts, most, most, True, **given)
    for n, (a, b) in enumerate(pairwise(starts.tolist())):
        if a < b:
            one = (x[a:b].transpose(0, 1)[None] for x in (q, k, v))
            close(found[a:b].transpose(0, 1)[None], wanted(*one, n))


def test_the_ops_of_torch():
    from warploom.torch import flex_attention

    x, w = randn(70, 128), randn(64, 128)
    wanted = torch.nn.functional.silu(x.double() @ w[0::2].double().T)
    wanted = wanted * (x.double() @ w[1::2].double().T)
    close(torch.ops.warploom.swiglu(x, w), wanted)
    close(torch.compile(torch.ops.warploom.swiglu, backend="aot_eager")(x, w), wanted)
    torch.library.opcheck(torch.ops.warploom.swiglu.default, (x, w), test_utils="test_schema")
    q, k, v = (randn(1, 2, 100, 64) for _ in "qkv")
    plain = (q.double() @ k.double().mT * 64**-0.5).softmax(-1) @ v.double()
    close(flex_attention(q, k, v), plain)
