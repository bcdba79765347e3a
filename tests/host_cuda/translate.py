"""CUDA text of an emitted kernel as C++ for the host.

Inline PTX is read instruction by instruction; each becomes a call of ``runtime.cpp``. One that is
not known here is an error, so nothing is executed that was not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = {
    "bf16.bf16": 0, "f16.f16": 1, "e4m3.e4m3": 2, "e5m2.e5m2": 3, "e4m3.e5m2": 4, "e5m2.e4m3": 5,
    "s8.s8": 6,
}  # fmt: skip
ORDERS = {"ne": "!=", "gt": ">"}
_OPERAND = re.compile(r'"[^"]*"\s*\(')


@dataclass(frozen=True)
class Asm:
    """One asm statement: its instructions, and the C++ expressions %0, %1, ... stand for."""

    text: str
    operands: tuple[str, ...]

    def value(self, place: str) -> str:
        """The expression of a PTX operand."""
        return self.operands[int(place[1:])] if place.startswith("%") else place


def to_host(text: str, entry: str) -> str:
    """The C++ of a kernel, with a function ``launch`` that takes the addresses of its arguments."""
    out, at = [], 0
    for found in re.finditer(r"\basm(?: volatile)?\s*\(", text):
        end = _closing(text, found.end() - 1)
        out += [text[at : found.start()], host_text(_read(text[found.end() : end]))]
        at = end + 1
    body = "".join([*out, text[at:]])
    body = body.replace(
        "extern __shared__ uint8_t dynamic_smem[];", "uint8_t* dynamic_smem = host_shared();"
    )
    return f'#include "host.h"\n{body}\n{_launch(text, entry)}'


def _closing(text: str, at: int) -> int:
    """Where the parenthesis at ``at`` closes; parentheses of strings do not count."""
    depth, quoted = 0, False
    for i in range(at, len(text)):
        if text[i] == '"' and text[i - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (text[i] == "(") - (text[i] == ")")
            if depth == 0:
                return i
    raise AssertionError("unbalanced parentheses")


def _read(text: str) -> Asm:
    """The statement between its parentheses."""
    sections, quoted, start = [], False, 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        if c == ":" and not quoted:
            sections.append(text[start:i])
            start = i + 1
    sections.append(text[start:])
    code = "".join(re.findall(r'"([^"]*)"', sections[0])).replace("\\n", "\n")
    operands = []
    for section in sections[1:3]:
        for found in _OPERAND.finditer(section):
            operands.append(section[found.end() : _closing(section, found.end() - 1)])
    return Asm(code, tuple(operands))


def host_text(asm: Asm) -> str:
    """The C++ statement of an asm statement."""
    lines = [x.strip().removeprefix("{").strip() for x in re.split(r"[;\n]", asm.text)]
    lines = [x for x in lines if x not in ("", "{", "}") and not x.startswith((".reg", "selp"))]
    keeps = None
    made = []
    for line in lines:
        given = re.fullmatch(r"setp\.(ne|gt)\.[bu]32 p, (\S+), (\d+)", line)
        asked = re.fullmatch(r"bar\.red\.or\.pred q, (\S+), 128, p", line)
        if given:
            keeps = f"((host_u32)({asm.value(given[2])}) {ORDERS[given[1]]} {given[3]}u)"
        elif asked:
            made.append(f"{asm.operands[0]} = host_bar_any({asm.value(asked[1])}, {keeps});")
        elif line.startswith("mov.b32"):
            made.append(f"{asm.value(line.split()[1].rstrip(','))} = 0;")
        elif line.startswith("@p "):
            made.append(f"if ({keeps}) {{ {_simple(asm, line[3:])} }}")
        elif line.startswith("wgmma.mma_async"):
            made.append(_product(asm, line, keeps or "0"))
        else:
            made.append(_simple(asm, line))
    return "{ " + " ".join(made) + " }"


def _product(asm: Asm, line: str, keeps: str) -> str:
    shape = re.match(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k\d+\.[fs]32\.(\S+) (.*)", line)
    n, kind, rest = int(shape[1]), KINDS[shape[2]], shape[3]
    lists = re.findall(r"\{([^}]*)\}", rest)
    after = re.sub(r"\{[^}]*\}", "{}", rest).split(", ")
    results = [asm.value(x.strip()) for x in lists[0].split(",")]
    flags = after[after.index("p") + 3 :]
    in_registers = len(lists) == 2
    a, left = "nullptr", "0"
    texts = [f"float* const d_[] = {{{', '.join(f'(float*)&{r}' for r in results)}}};"]
    if in_registers:
        parts = [asm.value(x.strip()) for x in lists[1].split(",")]
        texts.append(f"const host_u32* const a_parts[] = {{{', '.join('&' + x for x in parts)}}};")
        a = "a_parts"
        a_mn, b_mn = "0", flags[0] if flags else "0"
    else:
        left = asm.value(after[1])
        a_mn, b_mn = (flags[0], flags[1]) if flags else ("0", "0")
    right = asm.value(after[2])
    assert len(results) == n // 2
    texts.append(f"host_wgmma({n}, {kind}, d_, {a}, {left}, {right}, {keeps}, {a_mn}, {b_mn});")
    return " ".join(texts)


_NOTHING = (
    "mapa.shared::cluster.u32 there",
    "fence.release.sync_restrict::",
    "fence.acquire.sync_restrict::",
    "barrier.cluster.arrive.",
    "fence.mbarrier_init.",
    "prefetch.tensormap",
    "mov.u32 now, %%clock",
    "wgmma.fence.",
    "setmaxnreg.",
    "griddepcontrol.",
)
_PLAIN = {  # instruction: the C++ of its operands in the order of the PTX text
    "trap": "host_trap();",
    "elect.sync": "{0} = host_elect();",
    "mbarrier.init.shared::cta.b64": "host_mbar_init({0}, {1});",
    "mbarrier.arrive.expect_tx.shared::cta.b64": "host_mbar_expect({0}, {1});",
    "mbarrier.arrive.shared::cta.b64": "host_mbar_arrive({0});",
    "mbarrier.arrive.relaxed.cluster.shared::cluster.b64": "host_mbar_arrive_at({0}, {1});",
    "barrier.cluster.wait.acquire": "host_cluster_sync();",
    "mbarrier.try_wait.parity.shared::cta.b64": "{0} = host_mbar_wait({1}, {2});",
    "mapa.shared::cluster.u32": "{0} = host_at_cta({1}, {2});",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32": (
        "const float x_[] = {{{1}, {2}, {3}, {4}}}; host_send({0}, x_, {5});"
    ),
    "ld.shared.v4.f32": (
        "host_load_shared({4}, &{0}, 4); host_load_shared({4} + 4, &{1}, 4);"
        " host_load_shared({4} + 8, &{2}, 4); host_load_shared({4} + 12, &{3}, 4);"
    ),
    "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64": "{0} = host_mbar_wait({1}, {2});",
    "createpolicy.fractional.L2::evict_last.b64": "{0} = 0;",
    "createpolicy.fractional.L2::evict_first.b64": "{0} = 0;",
    "cp.async.bulk.commit_group": "host_bulk_commit();",
    "cp.async.bulk.wait_group.read": "host_bulk_wait({0});",
    "cp.async.bulk.wait_group": "host_bulk_wait({0});",
    "fence.proxy.async.shared::cta": "host_proxy_fence();",
    "wgmma.commit_group.sync.aligned": "host_wgmma_commit();",
    "bar.sync": "host_bar_sync({0}, {1});",
    "bar.arrive": "host_bar_arrive({0}, {1});",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": (
        "host_u32 r_[4]; host_ldmatrix(r_, {4});"
        " {0} = r_[0]; {1} = r_[1]; {2} = r_[2]; {3} = r_[3];"
    ),
    "stmatrix.sync.aligned.m8n8.x4.shared.b16": (
        "const host_u32 r_[] = {{{1}, {2}, {3}, {4}}}; host_stmatrix({0}, r_);"
    ),
    "st.shared.u8": "unsigned char b_ = (unsigned char)({1}); host_store_shared({0}, &b_, 1);",
    "st.shared.u16": "host_u16 h_ = {1}; host_store_shared({0}, &h_, 2);",
    "st.shared.u32": "host_u32 w_ = {1}; host_store_shared({0}, &w_, 4);",
    "st.shared.v2.f32": "host_store_shared2({0}, {1}, {2});",
    "st.shared.v4.b32": (
        "host_store_shared2({0}, __uint_as_float({1}), __uint_as_float({2}));"
        " host_store_shared2({0} + 8, __uint_as_float({3}), __uint_as_float({4}));"
    ),
    "ld.shared.v2.f32": "host_load_shared2({2}, &{0}, &{1});",
    "ld.shared.u8": "unsigned char b_; host_load_shared({1}, &b_, 1); {0} = b_;",
    "ld.shared.u16": "host_load_shared({1}, &{0}, 2);",
    "prefetch.global.L2": "",
    "ld.shared.f32": "host_load_shared({1}, &{0}, 4);",
    "ld.global.nc.s32": "{0} = *(const int*)({1});",
    "cvt.rn.f16x2.e4m3x2": "{0} = host_from_two_bytes({1}, false);",
    "cvt.rn.f16x2.e5m2x2": "{0} = host_from_two_bytes({1}, true);",
    "st.global.v4.b32": (
        "host_u32* t_ = (host_u32*)({0}); t_[0] = {1}; t_[1] = {2}; t_[2] = {3}; t_[3] = {4};"
    ),
    "st.global.cs.v4.b32": (
        "host_u32* t_ = (host_u32*)({0}); t_[0] = {1}; t_[1] = {2}; t_[2] = {3}; t_[3] = {4};"
    ),
    "red.relaxed.gpu.global.add.v2.f32": "float* t_ = (float*)({0}); t_[0] += {1}; t_[1] += {2};",
    "red.relaxed.gpu.global.add.v4.f32": (
        "float* t_ = (float*)({0}); t_[0] += {1}; t_[1] += {2}; t_[2] += {3}; t_[3] += {4};"
    ),
    "red.relaxed.gpu.global.add.u32": "*(volatile host_u32*)({0}) += 1;",
    "fence.acq_rel.gpu": "",
    "red.relaxed.gpu.global.add.f32": "*(float*)({0}) += {1};",
    "red.relaxed.gpu.global.add.noftz.bf16x2": "host_add_halves({0}, {1}, 2, false);",
    "red.relaxed.gpu.global.add.noftz.bf16": "host_add_halves({0}, {1}, 1, false);",
    "red.relaxed.gpu.global.add.noftz.f16x2": "host_add_halves({0}, {1}, 2, true);",
    "red.relaxed.gpu.global.add.noftz.f16": "host_add_halves({0}, {1}, 1, true);",
    "ld.acquire.gpu.global.u32": "host_pause(); {0} = *(const volatile host_u32*)({1});",
    "ld.global.nc.v4.b32": (
        "const host_u32* t_ = (const host_u32*)({4});"
        " {0} = t_[0]; {1} = t_[1]; {2} = t_[2]; {3} = t_[3];"
    ),
    "cp.async.cg.shared.global.L2::128B": "host_copy({0}, {1}, {2});",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64": "host_copies_arrive({0});",
    "cvt.f32.f16": "{0} = host_from_f16({1});",
    "cvt.rn.f16.f32": "{0} = host_to_f16({1});",
    "cvt.rn.bf16.f32": "{0} = host_to_bf16({1});",
    "cvt.rn.bf16x2.f32": "{0} = (host_u32)host_to_bf16({1}) << 16 | host_to_bf16({2});",
    "cvt.rn.f16x2.f32": "{0} = (host_u32)host_to_f16({1}) << 16 | host_to_f16({2});",
    "cvt.rn.satfinite.e4m3x2.f32": "{0} = host_to_two_bytes({1}, {2}, false);",
    "cvt.rn.satfinite.e5m2x2.f32": "{0} = host_to_two_bytes({1}, {2}, true);",
    "lop3.b32": "{0} = {1} & {2} | {3};",
    "sub.rn.bf16x2": "{0} = host_less_halves({1}, {2}, false);",
    "sub.rn.f16x2": "{0} = host_less_halves({1}, {2}, true);",
    "ex2.approx.ftz.f32": "{0} = exp2f({1});",
    "tanh.approx.f32": "{0} = tanhf({1});",
    "lg2.approx.ftz.f32": "{0} = log2f({1});",
}


def _simple(asm: Asm, line: str) -> str:
    word, _, rest = line.partition(" ")
    if line.startswith(_NOTHING):
        return ""
    if word == "wgmma.wait_group.sync.aligned":
        return f"host_wgmma_wait({asm.value(rest)});"
    moved = re.fullmatch(
        r"cp\.(reduce\.)?async\.bulk\.tensor\.(\d)d\.(shared::cluster\.global|global\.shared::cta)\S*",
        word,
    )
    if moved:
        cast = "multicast" in word
        loads = moved[3][0] == "s"
        return _copy(asm, rest, int(moved[2]), adds=bool(moved[1]), loads=loads, cast=cast)
    if rest.endswith("], now"):
        return "host_trap();"  # a time is no result: nobody may store it
    if word not in _PLAIN:
        raise NotImplementedError(f"no host meaning of `{line}`")
    return _PLAIN[word].format(*asm.operands)


def _copy(asm: Asm, rest: str, rank: int, *, adds: bool, loads: bool, cast: bool) -> str:
    found = re.search(r"\[(%\d+), \{([^}]*)\}\]", rest)
    places = [asm.value(x.strip()) for x in found[2].split(",")]
    assert len(places) == rank
    table, at = asm.value(found[1]), f"const int at_[] = {{{', '.join(places)}}};"
    others = [asm.value(x) for x in re.findall(r"\[(%\d+)\]", rest)]
    if loads:
        mask = asm.value(re.findall(r"%\d+", rest)[3 + rank]) if cast else "0"
        return f"{at} host_tma_load({others[0]}, {table}, {others[1]}, {rank}, at_, {mask});"
    return f"{at} host_tma_store({table}, {others[0]}, {rank}, at_, {str(adds).lower()});"


def _launch(text: str, entry: str) -> str:
    """Takes the addresses of the arguments, as the driver does."""
    head = re.search(rf"\b{entry}\(([^)]*)\)", text[text.index("__launch_bounds__") :])
    kinds = [
        p.replace("__grid_constant__", "").strip().rpartition(" ")[0] for p in head[1].split(",")
    ]
    values = [f"*({k}*)p[{i}]" for i, k in enumerate(kinds)]
    return f'extern "C" void launch(void** p) {{ {entry}({", ".join(values)}); }}\n'
