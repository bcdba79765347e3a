"""The small inline-PTX functions emitted kernels are written in, and the wgmma wrappers.

A kernel's source holds only those it calls. They include no header, so that nvcc and NVRTC both
compile the text as it is.
"""

from __future__ import annotations

from warploom.errors import BackendError

TYPES = """\
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define DEVICE __device__ __forceinline__

// An opaque tensor map of the driver (cuTensorMapEncodeTiled), passed by value.
struct alignas(64) TensorMap { uint64_t opaque[16]; };
"""

CURSOR = """\
// Position in a ring of D slots: the slot, and the phase bit its barriers are in.
template <int D> struct Cursor {
  int slot = 0;
  uint32_t phase = 0;
  DEVICE void advance() {
    if (++slot == D) { slot = 0; phase ^= 1; }
  }
  // The position J uses away (-D <= J <= D).
  template <int J> DEVICE Cursor at() const {
    Cursor c = *this;
    c.slot += J;
    if (J < 0 && c.slot < 0) { c.slot += D; c.phase ^= 1; }
    if (J > 0 && c.slot >= D) { c.slot -= D; c.phase ^= 1; }
    return c;
  }
};
"""


def _one(signature: str, asm: str, operands: str = "", *, memory: bool = True) -> str:
    inputs = f"::{operands}" if operands else "::"
    clobber = ' : "memory"' if memory and operands else ': "memory"' if memory else ""
    return f'DEVICE {signature} {{\n  asm volatile("{asm}" {inputs}{clobber});\n}}\n'


def _wait(name: str, sem: str, after: str = "") -> str:
    """Wait until a lap is over; ``after`` follows."""
    return (
        f"DEVICE void {name}(uint32_t bar, uint32_t parity) {{\n  uint32_t done;\n  do {{\n"
        '    asm volatile("{\\n.reg .pred p;\\n'
        f"mbarrier.try_wait.parity{sem}.shared::cta.b64 p, [%1], %2;\\n"
        'selp.u32 %0, 1, 0, p;\\n}"\n'
        '                 : "=r"(done) : "r"(bar), "r"(parity) : "memory");\n'
        f"  }} while (!done);\n{after}}}\n"
    )


HELPERS: dict[str, str] = {
    "shared_address": (
        "DEVICE uint32_t shared_address(const void* p) {\n"
        "  return (uint32_t)__cvta_generic_to_shared(p);\n}\n"
    ),
    "opaque": (
        "// The same value, computed behind the compiler's back.\n"
        "DEVICE int opaque(int x) {\n"
        '  asm volatile("" : "+r"(x));\n  return x;\n}\n'
    ),
    "elect_one": (
        "// One lane of a converged warp.\n"
        "DEVICE bool elect_one() {\n  uint32_t p;\n"
        '  asm volatile("{\\n.reg .pred p;\\nelect.sync _|p, 0xffffffff;\\n'
        'selp.u32 %0, 1, 0, p;\\n}" : "=r"(p));\n  return p;\n}\n'
    ),
    "mbar_init": _one(
        "void mbar_init(uint32_t bar, uint32_t count)",
        "mbarrier.init.shared::cta.b64 [%0], %1;",
        '"r"(bar), "r"(count)',
    ),
    "mbar_init_fence": _one("void mbar_init_fence()", "fence.mbarrier_init.release.cluster;"),
    "mbar_expect": _one(
        "void mbar_expect(uint32_t bar, uint32_t bytes)",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
        '"r"(bar), "r"(bytes)',
    ),
    "mbar_arrive": _one(
        "void mbar_arrive(uint32_t bar)", "mbarrier.arrive.shared::cta.b64 _, [%0];", '"r"(bar)'
    ),
    "mbar_arrive_at": (
        "// Releases what was read in this CTA's shared memory to another CTA. A release of all\n"
        "// memory (.release.cluster) would wait for the GPU's, in every iteration.\n"
        + _one(
            "void mbar_arrive_at(uint32_t bar, uint32_t cta)",
            "{\\n.reg .b32 there;\\nmapa.shared::cluster.u32 there, %0, %1;\\n"
            "fence.release.sync_restrict::shared::cta.cluster;\\n"
            "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\\n}",
            '"r"(bar), "r"(cta)',
        )
    ),
    "cluster_start": _one(  # after the fence of what was initialised
        "void cluster_start()",
        "barrier.cluster.arrive.relaxed;\\nbarrier.cluster.wait.acquire;",
    ),
    "cluster_sync": _one(
        "void cluster_sync()",
        "barrier.cluster.arrive.release;\\nbarrier.cluster.wait.acquire;",
    ),
    "await_kernel_before": (
        "// Its memory may be read and written from here on; the next kernel's CTAs may come.\n"
        + _one(
            "void await_kernel_before()",
            "griddepcontrol.wait;\\ngriddepcontrol.launch_dependents;",
        )
    ),
    "mbar_wait": _wait("mbar_wait", ""),
    "mbar_wait_cluster": _wait(
        "mbar_wait_cluster",
        ".relaxed.cluster",
        '  asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");\n',
    ),
    "policy_evict_last": (
        "DEVICE uint64_t policy_evict_last() {\n  uint64_t p;\n"
        '  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));\n'
        "  return p;\n}\n"
    ),
    "policy_evict_first": (
        "DEVICE uint64_t policy_evict_first() {\n  uint64_t p;\n"
        '  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));\n'
        "  return p;\n}\n"
    ),
    "bulk_commit": _one("void bulk_commit()", "cp.async.bulk.commit_group;"),
    "bulk_wait_read": (
        "template <int N> "
        + _one("void bulk_wait_read()", "cp.async.bulk.wait_group.read %0;", '"n"(N)')
    ),
    "bulk_wait": (
        "template <int N> " + _one("void bulk_wait()", "cp.async.bulk.wait_group %0;", '"n"(N)')
    ),
    "proxy_fence": _one("void proxy_fence()", "fence.proxy.async.shared::cta;"),
    "prefetch_line": _one(
        "void prefetch_line(const void* at)", "prefetch.global.L2 [%0];", '"l"(at)'
    ),
    "prefetch_map": _one(
        "void prefetch_map(const TensorMap* map)", "prefetch.tensormap [%0];", '"l"(map)'
    ),
    "wgmma_fence": _one("void wgmma_fence()", "wgmma.fence.sync.aligned;"),
    "wgmma_commit": _one("void wgmma_commit()", "wgmma.commit_group.sync.aligned;"),
    "wgmma_wait": (
        "template <int N> "
        + _one("void wgmma_wait()", "wgmma.wait_group.sync.aligned %0;", '"n"(N)')
    ),
    "named_sync": _one(
        "void named_sync(uint32_t id, uint32_t threads)",
        "bar.sync %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "named_arrive": _one(
        "void named_arrive(uint32_t id, uint32_t threads)",
        "bar.arrive %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "turn_given": (
        "// The assembler moves nothing across a read of the clock whose result may be used; it\n"
        "// would put what follows between the products, before the turn is given on.\n"
        "DEVICE void turn_given(uint32_t instance) {\n"
        '  asm volatile("{\\n.reg .pred p;\\n.reg .u32 now;\\nmov.u32 now, %%clock;\\n'
        'setp.gt.u32 p, %0, 15;\\n@p st.shared.u32 [%0], now;\\n}"\n'
        '               ::"r"(instance) : "memory");\n}\n'
    ),
    "registers_down": (
        "template <int R> "
        + _one(
            "void registers_down()", "setmaxnreg.dec.sync.aligned.u32 %0;", '"n"(R)', memory=False
        )
    ),
    "registers_up": (
        "template <int R> "
        + _one("void registers_up()", "setmaxnreg.inc.sync.aligned.u32 %0;", '"n"(R)', memory=False)
    ),
    "operand_k_major": (
        "// wgmma descriptor of a K-major operand tile, 128-byte rows, 128-byte swizzle.\n"
        "DEVICE uint64_t operand_k_major(uint32_t address) {\n"
        "  return (uint64_t)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32)"
        " | (1ull << 62);\n}\n"
    ),
    "operand_mn_major": (
        "// wgmma descriptor of an MN-major operand tile, 128-byte swizzle: blocks of 64 columns\n"
        "// `block_bytes` apart, groups of 8 rows 1024 bytes apart.\n"
        "DEVICE uint64_t operand_mn_major(uint32_t address, uint32_t block_bytes) {\n"
        "  return (uint64_t)((address & 0x3FFFF) >> 4) | ((uint64_t)(block_bytes >> 4) << 16)"
        " | (64ull << 32)\n         | (1ull << 62);\n}\n"
    ),
    "ldmatrix4": (
        "DEVICE void ldmatrix4(uint32_t (&r)[4], uint32_t address) {\n"
        '  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"\n'
        '               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address)'
        ' : "memory");\n}\n'
    ),
    "stmatrix4": _one(
        "void stmatrix4(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d)",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};",
        '"r"(address), "r"(a), "r"(b), "r"(c), "r"(d)',
    ),
    "store_shared2": _one(
        "void store_shared2(uint32_t address, float a, float b)",
        "st.shared.v2.f32 [%0], {%1, %2};",
        '"r"(address), "f"(a), "f"(b)',
    ),
    "store_shared4": _one(
        "void store_shared4(uint32_t address, float a, float b, float c, float d)",
        "st.shared.v4.f32 [%0], {%1, %2, %3, %4};",
        '"r"(address), "f"(a), "f"(b), "f"(c), "f"(d)',
    ),
    "add_global2": _one(
        "void add_global2(float* at, float a, float b)",
        "red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};",
        '"l"(at), "f"(a), "f"(b)',
    ),
    "add_global4": _one(
        "void add_global4(float* at, float a, float b, float c, float d)",
        "red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};",
        '"l"(at), "f"(a), "f"(b), "f"(c), "f"(d)',
    ),
    "add_relaxed": _one(
        "void add_relaxed(unsigned* at)",
        "red.relaxed.gpu.global.add.u32 [%0], 1;",
        '"l"(at)',
    ),
    "fence_gpu": _one("void fence_gpu()", "fence.acq_rel.gpu;"),
    "bulk_add": _one(
        "void bulk_add(float* to, uint32_t from, uint32_t bytes)",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;",
        '"l"(to), "r"(from), "r"(bytes)',
    ),
    "pack_bf16": (
        "DEVICE uint32_t pack_bf16(float lo, float hi) {\n  uint32_t r;\n"
        '  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));\n  return r;\n}\n'
    ),
    "quad_transpose": (
        "// x[j] of thread i of four becomes x[i] of thread j.\n"
        "DEVICE void quad_transpose(uint32_t (&x)[4]) {\n"
        "  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;\n"
        "#pragma unroll\n"
        "  for (int j = 0; j < 4; j += 2) {\n"
        "    const uint32_t got = __shfl_xor_sync(~0u, odd ? x[j] : x[j + 1], 1);\n"
        "    if (odd) x[j] = got; else x[j + 1] = got;\n  }\n"
        "#pragma unroll\n"
        "  for (int j = 0; j < 2; ++j) {\n"
        "    const uint32_t got = __shfl_xor_sync(~0u, upper ? x[j] : x[j + 2], 2);\n"
        "    if (upper) x[j] = got; else x[j + 2] = got;\n  }\n}\n"
    ),
    "store_global4": _one(
        "void store_global4(void* at, const uint32_t (&x)[4])",
        "st.global.v4.b32 [%0], {%1, %2, %3, %4};",
        '"l"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])',
    ),
    "stream_global4": _one(
        "void stream_global4(void* at, const uint32_t (&x)[4])",
        "st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};",
        '"l"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])',
    ),
    "log2_approx": (
        "DEVICE float log2_approx(float x) {\n  float y;\n"
        '  asm volatile("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));\n  return y;\n}\n'
    ),
    "tanh_approx": (
        "DEVICE float tanh_approx(float x) {\n  float y;\n"
        '  asm volatile("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));\n  return y;\n}\n'
    ),
    "exp2_once": (
        "DEVICE float exp2_once(float x) {\n  float y;\n"
        '  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));\n  return y;\n}\n'
    ),
    "erf_smooth": (
        "// 1 - 2^p(|x|), a polynomial fitted to log2(erfc): a millionth off at most. Few\n"
        "// instructions, since beside products each is slow, and no branch between elements.\n"
        "DEVICE float erf_smooth(float x) {\n"
        "  const float z = fabsf(x);\n"
        "  float p = fmaf(z, -0.00294415778f, 0.0295900425f);\n"
        "  p = fmaf(z, fmaf(z, p, -0.14866563f), -0.918509364f);\n"
        "  return copysignf(1.0f - exp2_once(z * fmaf(z, p, -1.62788901f)), x);\n}\n"
    ),
    "exp2_approx": (
        "DEVICE float exp2_approx(float x) {\n  float y;\n"
        '  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));\n  return y;\n}\n'
    ),
}

_WGMMA_TYPES = {
    "bf16": (16, "bf16.bf16"),
    "fp16": (16, "f16.f16"),
    "e4m3": (32, "e4m3.e4m3"),
    "e5m2": (32, "e5m2.e5m2"),
    "e4m3_e5m2": (32, "e4m3.e5m2"),
    "e5m2_e4m3": (32, "e5m2.e4m3"),
    "i8": (32, "s8.s8"),
}


def wgmma_name(
    n: int,
    dtype: str,
    *,
    a_in_registers: bool = False,
    b_mn_major: bool = False,
    a_mn_major: bool = False,
    first: bool = False,
) -> str:
    """The name of the wrapper ``wgmma_function`` writes."""
    tags = ("_rs" if a_in_registers else "") + ("_ta" if a_mn_major else "")
    tags += ("_tb" if b_mn_major else "") + ("_first" if first else "")
    return f"wgmma_m64n{n}_{dtype}{tags}"


def wgmma_function(
    n: int,
    dtype: str,
    *,
    a_in_registers: bool = False,
    b_mn_major: bool = False,
    a_mn_major: bool = False,
    first: bool = False,
) -> str:
    """A wrapper of one wgmma: D (n/2 registers a thread) = A * B (+ D if ``accumulate``).

    Products of ``i8`` accumulate in 32-bit whole numbers, all others in f32.

    ``first``: D is written only, so that nothing need be kept in its registers before.
    """
    if dtype not in _WGMMA_TYPES:
        raise BackendError(
            f"wgmma has no operand type {dtype!r}", fix=f"known: {', '.join(_WGMMA_TYPES)}"
        )
    k, types = _WGMMA_TYPES[dtype]
    if (b_mn_major or a_mn_major) and k != 16:
        raise BackendError("fp8 operands are K-major only", where="wgmma B")
    count = n // 2
    accumulators = ", ".join(f"%{i}" for i in range(count))
    if a_in_registers:
        a = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        arguments, inputs, at = (
            "const uint32_t (&a)[4]",
            ", ".join(f'"r"(a[{i}])' for i in range(4)),
            count + 4,
        )
    else:
        a, arguments, inputs, at = f"%{count}", "uint64_t a", '"l"(a)', count + 1
    left = "" if a_in_registers else f", {+a_mn_major}"
    transposes = "" if k != 16 else f"{left}, {+b_mn_major}"
    name = wgmma_name(
        n,
        dtype,
        a_in_registers=a_in_registers,
        b_mn_major=b_mn_major,
        a_mn_major=a_mn_major,
        first=first,
    )
    whole = dtype == "i8"
    register, held, sums = ("r", "int", "s32") if whole else ("f", "float", "f32")
    outputs = ", ".join(f'"{"=" if first else "+"}{register}"(d[{i}])' for i in range(count))
    scales = "" if whole else ", 1, 1"
    choice = "" if first else ", int accumulate"
    keeps = "0" if first else f"%{at + 1}"
    given = "" if first else ', "r"(accumulate)'
    return (
        f"DEVICE void {name}({held} (&d)[{count}], {arguments}, uint64_t b{choice}) {{\n"
        f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, {keeps}, 0;\\n"\n'
        f'    "wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sums}.{types} "\n'
        f'    "{{{accumulators}}}, {a}, %{at}, p{scales}{transposes};\\n}}"\n'
        f"    : {outputs}\n"
        f'    : {inputs}, "l"(b){given});\n}}\n'
    )
