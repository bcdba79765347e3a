# ruff: noqa: E501 (CUDA texts)
"""Small CUDA kernels in several forms: the macro ``V`` chooses, a label says what each form is."""

from __future__ import annotations

from typing import Any

K = """extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;
"""
VARIANTS: dict[str, tuple[list[str], str, dict[str, Any]]] = {}


def case(name: str, labels: list[str], code: str, **launch: Any) -> None:
    """Keep a case: ``ok`` or ``bad`` for each value of ``V``."""
    VARIANTS[name] = (labels, code, launch)


case(
    "fence_place",
    ["ok", "ok", "bad", "bad", "bad", "ok"],
    K
    + """
  __shared__ alignas(128) float s[96];
  s[t]=x[t];
  if (V==0) proxy_fence();
  if (V==3) asm volatile("fence.proxy.async.global;":::"memory");
  if (V==4) __threadfence_block();
  __syncthreads();
  if (V==5) { if (t==64) proxy_fence(); __syncthreads(); }
  if (V==2 && t!=0) proxy_fence();
  if (t==0) { if (V==1) asm volatile("fence.proxy.async;":::"memory"); bulk_store(y,s,384); bulk_commit(); bulk_wait_read(); } }""",
    block=96,
)
case(
    "bounded_tries",
    ["ok", "bad", "ok"],
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t==0) { bar_init(&b,1); init_fence(); } __syncthreads();
  if (t==0) { bar_expect(&b,256); bulk_load(s,x,256,&b); }
  u32 ok=0;
  for (int i=0;(V==1)?i<3:true;++i){ asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(smem(&b)):"memory"); if(ok) break; if(V==2) __nanosleep(20); }
  y[t]=s[63-t]; }""",
)
case(
    "one_waits",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t==0) { bar_init(&b,1); init_fence(); } __syncthreads();
  if (t==0) { bar_expect(&b,256); bulk_load(s,x,256,&b); }
  if (t==0) bar_wait(&b,0);
  if (V==0) __syncthreads(); if (V==1) __syncwarp();
  y[t]=s[63-t]; }""",
)
case(
    "arrive_with_count",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ float s[64]; __shared__ u64 b;
  if (t==0) bar_init(&b,64); __syncthreads();
  s[t]=x[t]; __syncwarp();
  if (t%32==0) asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;"::"r"(smem(&b)),"n"(V==0?32:V==1?31:64):"memory");
  bar_wait(&b,0); y[t]=s[63-t]; }""",
)
case(
    "arrive_drop",
    ["ok", "bad"],
    K
    + """
  __shared__ float s[64]; __shared__ u64 b;
  if (t==0) bar_init(&b,64); __syncthreads();
  if (t>=32) { s[t]=x[t]; if (V==0) asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];"::"r"(smem(&b)):"memory"); else bar_arrive(&b); return; }
  s[t]=x[t]; bar_arrive(&b); bar_wait(&b,0); float v=s[63-t];
  for(int i=1;i<3;++i){ s[t]=v+i; bar_arrive(&b); bar_wait(&b,i&1); v+=s[31-t]; __syncwarp(); }
  y[t]=v; }""",
)
case(
    "reinit",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ float s[64]; __shared__ u64 b;
  if (t==0) bar_init(&b,64); __syncthreads();
  s[t]=x[t]; bar_arrive(&b); bar_wait(&b,0); float v=s[63-t];
  if (V!=1) __syncthreads();
  if (t==0) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];"::"r"(smem(&b)):"memory"); bar_init(&b,2); }
  if (V!=2) __syncthreads();
  if (V==1) __syncthreads();
  s[t]=v; __syncwarp(); if(t%32==0) bar_arrive(&b); bar_wait(&b,0); y[t]=s[63-t]; }""",
)
case(
    "mbar_overwritten",
    ["ok", "bad"],
    K
    + """
  __shared__ alignas(16) u64 m[2]; __shared__ float s[64];
  if (t==0) { bar_init(&m[0],64); } __syncthreads();
  s[t]=x[t];
  if (t==1) ((float*)m)[V==0?2:1]=1.f;
  bar_arrive(&m[0]); bar_wait(&m[0],0); y[t]=s[63-t]; }""",
)
case(
    "mbar_misaligned",
    ["ok", "bad"],
    K
    + """
  __shared__ alignas(16) char m[32]; __shared__ float s[64]; u64* b=(u64*)(m+(V==1?4:8));
  if (t==0) { bar_init(b,64); } __syncthreads();
  s[t]=x[t]; bar_arrive(b); bar_wait(b,0); y[t]=s[63-t]; }""",
)
RING = """
 __shared__ alignas(128) float s[NS][64]; __shared__ u64 f[NS],e[NS];
 if(t==0){ for(int k=0;k<NS;++k){bar_init(&f[k],1); bar_init(&e[k],EC);} init_fence(); } __syncthreads();
 const int n=9;
 if(t<32){ if(t==0) for(int i=0;i<n;++i){ int k=i%NS; bar_wait(&e[k],((i/NS)&1)^1); bar_expect(&f[k],256); bulk_load(s[k],x+64*i,256,&f[k]); } }
"""
case(
    "release_before_read",
    ["ok", "bad"],
    "#define NS 3\n#define EC 64\n"
    + K
    + RING
    + """
 else for(int i=0;i<n;++i){ int k=i%NS; bar_wait(&f[k],(i/NS)&1); if(V==1) bar_arrive(&e[k]); y[64*i+t-32]=s[k][95-t]; if(V==0) bar_arrive(&e[k]); } }""",
    block=96,
    x=576,
    y=576,
)
case(
    "two_consumers",
    ["ok", "bad", "bad"],
    "#define NS 2\n#define EC (V==1?1:2)\n"
    + K
    + RING
    + """
 else { int w=(t-32)/32; for(int i=0;i<n;++i){ int k=i%NS; bar_wait(&f[k],(i/NS)&1); y[64*i+t-32]=s[k][95-t]; __syncwarp(); if(t%32==0 && !(V==2 && w==1 && i==3)) bar_arrive(&e[k]); } } }""",
    block=96,
    x=576,
    y=576,
)
case(
    "consumer_skips_wait",
    ["ok", "bad"],
    "#define NS 3\n#define EC 64\n"
    + K
    + RING
    + """
 else for(int i=0;i<n;++i){ int k=i%NS; if(V==0||i!=4) bar_wait(&f[k],(i/NS)&1); y[64*i+t-32]=s[k][95-t]; bar_arrive(&e[k]); } }""",
    block=96,
    x=576,
    y=576,
)
case(
    "peek_then_wait",
    ["ok"],
    "#define NS 3\n#define EC 64\n"
    + K
    + RING
    + """
 else for(int i=0;i<n;++i){ int k=i%NS; u32 ok; asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(smem(&f[k])),"r"((i/NS)&1):"memory"); if(!ok) bar_wait(&f[k],(i/NS)&1); y[64*i+t-32]=s[k][95-t]; bar_arrive(&e[k]); } }""",
    block=96,
    x=576,
    y=576,
)
case(
    "peek_other_slot",
    ["bad"],
    "#define NS 3\n#define EC 64\n"
    + K
    + RING
    + """
 else for(int i=0;i<n;++i){ int k=i%NS; u32 ok; asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(smem(&f[(i+NS-1)%NS])),"r"(i?((i-1)/NS)&1:1):"memory"); if(!ok) bar_wait(&f[k],(i/NS)&1); y[64*i+t-32]=s[k][95-t]; bar_arrive(&e[k]); } }""",
    block=96,
    x=576,
    y=576,
)
case(
    "cp_async_own",
    ["ok", "bad", "ok"],
    K
    + """
  __shared__ alignas(16) float s[256]; copy16(s+4*t,x+4*t);
  if(V==0){ copy_commit(); copy_wait0(); } if(V==2) asm volatile("cp.async.wait_all;":::"memory"); if(V==1) copy_commit();
  y[t]=s[4*t]+s[4*t+3]; }""",
)
case(
    "cp_async_uncommitted",
    ["ok", "bad"],
    K
    + """
  __shared__ alignas(16) float s[256]; if(V==1) copy_commit(); copy16(s+4*t,x+4*t); if(V==0) copy_commit(); copy_wait0(); y[t]=s[4*t]; }""",
)
case(
    "cp_async_zfill",
    ["ok", "bad"],
    K
    + """
  __shared__ alignas(16) float s[256]; asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"::"r"(smem(s+4*t)),"l"(x+4*t),"r"(t<20?16:0):"memory"); copy_commit(); if(V==0) copy_wait0(); __syncthreads(); y[t]=s[(4*t+4)%256]; }""",
)
case(
    "cp_async_war",
    ["ok", "bad"],
    K
    + """
  __shared__ alignas(16) float s[256]; copy16(s+4*t,x+4*t); copy_commit(); copy_wait0(); __syncthreads(); float a=s[255-t]; if(V==0) __syncthreads(); copy16(s+4*t,x+256+4*t); copy_commit(); copy_wait0(); __syncthreads(); y[t]=a+s[t]; }""",
    x=512,
)
case(
    "bar_red_orders",
    ["ok", "ok", "bad"],
    K
    + """
  __shared__ float s[64]; s[t]=x[t]; int c=0; if(V==0) c=__syncthreads_and(x[t]>0); if(V==1) c=__syncthreads_or(x[t]>0); if(V==2) c=__any_sync(~0u,x[t]>0); y[t]=s[63-t]+c; }""",
)
case(
    "shfl_is_no_fence",
    ["bad", "bad", "bad", "ok"],
    K
    + """
  __shared__ float s[64]; s[t]=x[t]; float v=0; if(V==0) v=__shfl_xor_sync(~0u,x[t],1); if(V==1) v=__ballot_sync(~0u,x[t]>0); if(V==2) v=__reduce_add_sync(~0u,t); if(V==3) __syncwarp(); y[t]=v+s[t^5]; }""",
)
case(
    "elect_vs_lane0",
    ["ok", "ok", "bad"],
    K
    + """
  __shared__ alignas(128) float s[2][64]; u32 p;
  s[0][t]=x[t]; proxy_fence(); __syncthreads();
  if(t<32){ asm volatile("{.reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0,1,0,q;}":"=r"(p));
    if(p){ bulk_store(y,s[0],256); bulk_commit(); if(V==0) bulk_wait_read(); }
    if(V==1 && t==0) bulk_wait_read();
    if(V==2 && t==1) bulk_wait_read(); }
  __syncthreads(); s[0][t]=0; }""",
)
case(
    "elect_twice",
    ["ok"],
    K
    + """
  __shared__ alignas(128) float s[2][64]; u32 p;
  s[0][t]=x[t]; proxy_fence(); __syncthreads();
  if(t<32){ asm volatile("{.reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0,1,0,q;}":"=r"(p));
    if(p){ bulk_store(y,s[0],256); bulk_commit(); }
    asm volatile("{.reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0,1,0,q;}":"=r"(p)); if(p) bulk_wait_read(); }
  __syncthreads(); s[0][t]=0; }""",
)
case(
    "relaxed_data_and_flag",
    ["bad", "ok"],
    """extern "C" __global__ void kernel(const int* x, int* y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) { if (t == 0) { atomicExch(y+1,x[0]); if(V==1) __threadfence(); atomicExch(y,1); } }
  else if (t == 0) { while(atomicAdd(y,0)==0); if(V==1) __threadfence(); y[2] = atomicAdd(y+1,0); } }""",
    grid=2,
    xd="i32",
    yd="i32",
    block=32,
)
case(
    "fence_after_ticket",
    ["ok", "bad", "ok", "ok", "bad"],
    K
    + """
  __shared__ int last; unsigned* c=(unsigned*)y; y[64*(1+blockIdx.x)+t]=x[t]; if(V==0) __threadfence(); __syncthreads();
  if(t==0){ unsigned k; 
    if(V==2) asm volatile("atom.acq_rel.gpu.global.add.u32 %0,[%1],1;":"=r"(k):"l"(c):"memory");
    else if(V==3){ __threadfence(); k=atomicAdd(c,1); }
    else if(V==4) asm volatile("atom.release.gpu.global.add.u32 %0,[%1],1;":"=r"(k):"l"(c):"memory");
    else k=atomicAdd(c,1);
    if(V==1||V==0||V==3) __threadfence(); last=k==gridDim.x-1; }
  __syncthreads(); if(last){ float a=0; for(int i=0;i<gridDim.x;++i) a+=y[64*(1+i)+t]; y[512+t]=a; } }""",
    grid=3,
    y=1024,
)

case(
    "single_try",
    ["bad", "ok"],
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t==0) { bar_init(&b,1); init_fence(); } __syncthreads();
  if (t==0) { bar_expect(&b,256); bulk_load(s,x,256,&b); }
  if(V==1) bar_wait(&b,0);
  u32 ok; asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(smem(&b)):"memory");
  y[t]=s[63-t]; }""",
)
case(
    "give_up_trap",
    ["ok"],
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t==0) { bar_init(&b,1); init_fence(); } __syncthreads();
  if (t==0) { bar_expect(&b,256); bulk_load(s,x,256,&b); }
  u32 ok=0; for(int i=0;!ok;++i){ asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0,1,0,p;}":"=r"(ok):"r"(smem(&b)):"memory"); if(i>30) __trap(); }
  y[t]=s[63-t]; }""",
)
case(
    "try_wait_relaxed",
    ["ok", "bad"],
    """extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ float s[64]; __shared__ u64 b;
  if (t==0) { bar_init(&b,64); } __syncthreads();
  s[t]=x[t]; bar_arrive(&b);
  asm volatile("{\\n.reg .pred p;\\nWT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], 0;\\n@!p bra WT;\\n}"::"r"(smem(&b)):"memory");
  y[t]=s[63-t]; }""",
    sub={1: [("mbarrier.try_wait.parity.acquire.cta", "mbarrier.try_wait.parity.relaxed.cta")]},
)
CL = 'extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));\n'
CSYNC = (
    'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");'
)
case(
    "dsmem_before_start",
    ["ok", "bad"],
    CL
    + """
  __shared__ float s[64]; u32 a; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  if(V==0) """
    + CSYNC
    + """
  asm volatile("st.shared::cluster.f32 [%0], %1;"::"r"(a),"f"(x[t+64*r]):"memory");
  """
    + CSYNC
    + """
  y[t+64*r]=s[t]; }""",
    grid=2,
    cluster=2,
)
case(
    "write_between_arrive_wait",
    ["ok", "bad"],
    CL
    + """
  __shared__ float s[64]; u32 a; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  """
    + CSYNC
    + """
  if(V==0) asm volatile("st.shared::cluster.f32 [%0], %1;"::"r"(a),"f"(x[t+64*r]):"memory");
  asm volatile("barrier.cluster.arrive.aligned;":::"memory");
  if(V==1) asm volatile("st.shared::cluster.f32 [%0], %1;"::"r"(a),"f"(x[t+64*r]):"memory");
  asm volatile("barrier.cluster.wait.aligned;":::"memory");
  y[t+64*r]=s[t]; """
    + CSYNC
    + "}",
    grid=2,
    cluster=2,
)
case(
    "cluster_arrive_twice",
    ["ok", "bad", "bad"],
    CL
    + """
  asm volatile("barrier.cluster.arrive.aligned;":::"memory");
  if(V==1) asm volatile("barrier.cluster.arrive.aligned;":::"memory");
  if(V!=2||t<32) asm volatile("barrier.cluster.wait.aligned;":::"memory");
  if(V==1) asm volatile("barrier.cluster.wait.aligned;":::"memory");
  y[t+64*r]=x[t]; if(V==2) {asm volatile("barrier.cluster.arrive.aligned;":::"memory"); asm volatile("barrier.cluster.wait.aligned;":::"memory");} }""",
    grid=2,
    cluster=2,
)
case(
    "cluster_partial",
    ["ok", "bad"],
    CL
    + """
  if(V==0||t<32) { asm volatile("barrier.cluster.arrive.aligned;":::"memory"); asm volatile("barrier.cluster.wait.aligned;":::"memory"); }
  else { named_sync(1,32); }
  if(V==1) __syncthreads();
  y[t+64*r]=x[t]; }""",
    grid=2,
    cluster=2,
)
case(
    "fence_scope_dsmem",
    ["ok", "bad"],
    CL
    + """
  __shared__ float s[64]; __shared__ u32 flag; u32 a,f; if(t==0) flag=0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[0])), "r"(r ^ 1)); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(f) : "r"(smem(&flag)), "r"(r ^ 1));
  """
    + CSYNC
    + """
  if(t==0){ asm volatile("st.shared::cluster.f32 [%0], %1;"::"r"(a),"f"(x[r]):"memory");
   if(V==0) asm volatile("fence.acq_rel.cluster;":::"memory"); else asm volatile("fence.acq_rel.cta;":::"memory");
   asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], 1;"::"r"(f):"memory");
   u32 v; do{ asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];":"=r"(v):"r"(smem(&flag)):"memory"); }while(!v);
   y[r]=s[0]; }
  """
    + CSYNC
    + "}",
    grid=2,
    cluster=2,
)
case(
    "multicast_exit",
    ["ok", "bad"],
    CL
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); }
  """
    + CSYNC
    + """
  if(t==0){ if(V==0||r==0) bar_expect(&b,256); if(r==0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(smem(s)), "l"(x), "r"(256), "r"(smem(&b)), "h"((unsigned short)3) : "memory"); }
  if(V==0||r==0) { bar_wait(&b,0); y[t+64*r]=s[t]; }
  if(V==0) {"""
    + CSYNC
    + """} }""",
    grid=2,
    cluster=2,
)
case(
    "multicast_mask_beyond",
    ["bad"],
    CL
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); }
  """
    + CSYNC
    + """
  if(t==0){ bar_expect(&b,256); if(r==0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(smem(s)), "l"(x), "r"(256), "r"(smem(&b)), "h"((unsigned short)7) : "memory"); }
  bar_wait(&b,0); y[t+64*r]=s[t]; """
    + CSYNC
    + "}",
    grid=2,
    cluster=2,
)
case(
    "bulk_alignment",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ alignas(128) float s[128]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads();
  if(t==0){ bar_expect(&b,V==2?248:256); bulk_load(s+(V==1?2:0),x,V==2?248:256,&b); } bar_wait(&b,0); y[t]=s[t+(V==1?2:0)%64]; }""",
)
case(
    "nc_load_of_written",
    ["ok", "bad", "ok"],
    K
    + """
  unsigned* c=(unsigned*)y; 
  if(blockIdx.x==0){ y[64+t]=x[t]; __threadfence(); __syncthreads(); if(t==0) atomicAdd(c,1); }
  else { if(t==0) while(atomicAdd(c,0)==0); __syncthreads(); __threadfence(); float v; 
   if(V==1) asm volatile("ld.global.nc.f32 %0,[%1];":"=f"(v):"l"(y+64+t):"memory"); else if(V==0) v=y[64+t]; else v=__ldcg(y+64+t);
   y[128+t]=v+__ldg(x+t); } }""",
    grid=2,
)
case(
    "nc_load_own_write",
    ["bad"],
    K
    + """
   y[t]=x[t]; __syncthreads(); float v; asm volatile("ld.global.nc.f32 %0,[%1];":"=f"(v):"l"(y+63-t):"memory"); y[128+t]=v; }""",
)
case(
    "volatile_both",
    ["ok", "bad"],
    """extern "C" __global__ void kernel(const float* x, float* y) { int t=threadIdx.x; volatile float* w=y+64; volatile int* f=(volatile int*)y;
  if(blockIdx.x==0){ w[t]=x[t]; if(V==0) __threadfence(); __syncthreads(); if(t==0) *f=1; }
  else { if(t==0) while(*f==0); __syncthreads(); if(V==0) __threadfence(); y[128+t]=w[t]; } }""",
    grid=2,
)
case(
    "relaxed_data_load",
    ["ok", "bad"],
    """extern "C" __global__ void kernel(const int* x, int* y) { int t=threadIdx.x; 
  if(blockIdx.x==0){ asm volatile("st.relaxed.gpu.global.u32 [%0],%1;"::"l"(y+1),"r"(x[0]):"memory"); if(V==0) asm volatile("st.release.gpu.global.u32 [%0],1;"::"l"(y):"memory"); else asm volatile("st.relaxed.gpu.global.u32 [%0],1;"::"l"(y):"memory"); }
  else { int v; do asm volatile("ld.acquire.gpu.global.u32 %0,[%1];":"=r"(v):"l"(y):"memory"); while(!v); asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];":"=r"(v):"l"(y+1):"memory"); y[2]=v; } }""",
    grid=2,
    block=1,
    xd="i32",
    yd="i32",
)
case(
    "s2s_copy",
    ["ok", "bad", "bad"],
    CL
    + """
  __shared__ alignas(128) float s[64], d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); if(V!=2) bar_expect(&b,256); else bar_expect(&b,128);} s[t]=x[t+64*r]; if(V!=1) proxy_fence();
  """
    + CSYNC
    + """
  if(t==0){ u32 a,m; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(d)), "r"(r ^ 1)); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(m) : "r"(smem(&b)), "r"(r ^ 1));
   asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"::"r"(a),"r"(smem(s)),"r"(m):"memory"); }
  bar_wait(&b,0); y[t+64*r]=d[63-t]; """
    + CSYNC
    + "}",
    grid=2,
    cluster=2,
)
case(
    "s2s_source_reused",
    ["ok", "bad"],
    CL
    + """
  __shared__ alignas(128) float s[64], d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); bar_expect(&b,256);} s[t]=x[t+64*r]; proxy_fence();
  """
    + CSYNC
    + """
  if(t==0){ u32 a,m; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(d)), "r"(r ^ 1)); asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(m) : "r"(smem(&b)), "r"(r ^ 1));
   asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"::"r"(a),"r"(smem(s)),"r"(m):"memory"); }
  bar_wait(&b,0); float v=d[63-t]; if(V==0) """
    + CSYNC
    + """ s[t]=v; y[t+64*r]=v+s[t]; """
    + CSYNC
    + "}",
    grid=2,
    cluster=2,
)
case(
    "named_reuse_counts",
    ["ok", "bad"],
    K
    + """
  __shared__ float s[128]; 
  if(t<64){ s[t]=x[t]; named_sync(1,V==0?64:96); y[t]=s[63-t]; } else { s[t]=x[t]; named_sync(V==0?2:1,V==0?64:96); y[t]=s[191-t]; } }""",
    block=128,
)
case(
    "bar0_mixed",
    ["ok", "bad"],
    K
    + """
  __shared__ float s[64]; s[t]=x[t]; if(t<32) { if(V==1) asm volatile("bar.sync 0, 32;":::"memory"); else __syncwarp(); } __syncthreads(); y[t]=s[63-t]; }""",
)
case(
    "setmaxnreg_part",
    ["ok", "bad"],
    K
    + """
  int w=t/128; 
  if(w==0){ if(V!=1||t<32) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); y[t]=x[t]; } else { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); y[t]=x[t]*2; } }""",
    block=256,
)
case(
    "grid_dep_write",
    ["ok", "bad"],
    K
    + """
  if(V==1) y[t]=x[t]; asm volatile("griddepcontrol.wait;":::"memory"); if(V==0) y[t]=x[t]; }""",
)
case("named_17", ["bad"], K + """named_sync(16,64); y[t]=x[t]; }""")
case("named_33", ["bad"], K + """if(t<33) named_sync(1,33); y[t]=x[t]; }""")

WG = """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x;
"""
F = "__shared__ alignas(1024) bf a[3][64*16], b[3][8*16]; fill(a[0],x,t,3072,BS); fill(b[0],x,t,384,BS); proxy_fence(); __syncthreads(); float d[4]={0,0,0,0}, e[4]={0,0,0,0};\n".replace(
    "BS", "blockDim.x"
)
case(
    "two_groups_wait1",
    ["ok", "bad"],
    WG
    + F
    + """
 wg_fence(d); wg_fence(e); wgmma(d,a[0],b[0]); wg_commit(); wgmma(e,a[1],b[1]); wg_commit(); wg_wait<1>(); 
 if(V==0){TIE(d); outp(y,d,t);} else {TIE(e); outp(y,e,t);} wg_wait<0>(); TIE(d); TIE(e); outp(y+512,e,t); }""",
    block=128,
    y=1024,
)
case(
    "chain_same_acc",
    ["ok"],
    WG
    + F
    + """
 wg_fence(d); wgmma(d,a[0],b[0]); wgmma(d,a[1],b[1]); wg_commit(); wgmma(d,a[2],b[2]); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
)
case(
    "acc_modified_between",
    ["ok", "bad", "bad"],
    WG
    + F
    + """
 wg_fence(d); wgmma(d,a[0],b[0]); wg_commit(); if(V!=2) wg_wait<0>(); TIE(d); for(int i=0;i<4;++i) d[i]*=2.f; TIE(d);
 if(V!=1) wg_fence(d); wgmma(d,a[1],b[1]); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
)
case(
    "areg_modified",
    ["ok", "bad", "bad"],
    WG
    + F
    + """
 u32 r[4]={0x3f803f80u,0x3f803f80u,0x40004000u,0x3f803f80u}; tie(r); wg_fence(d); wgmma_reg(d,r,b[0]); wg_commit(); if(V!=1) wg_wait<0>(); tie(r); for(int i=0;i<4;++i) r[i]^=0x8000; tie(r);
 if(V!=2) wg_fence(d); wgmma_reg(d,r,b[1]); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
)
case(
    "no_commit_wait0",
    ["bad"],
    WG
    + F
    + """
 wg_fence(d); wgmma(d,a[0],b[0]); wg_wait<0>(); TIE(d); outp(y,d,t); wg_commit(); wg_wait<0>(); }""",
    block=128,
    y=512,
)
case(
    "smem_rewritten_after_wait",
    ["ok", "bad", "bad", "bad"],
    WG
    + F
    + """
 wg_fence(d); wgmma(d,a[0],b[0]); wg_commit(); if(V!=3) wg_wait<0>(); if(V!=1) __syncthreads(); fill(b[0],x+1,t,128,128); if(V!=2) proxy_fence(); __syncthreads(); 
 if(V==3) wg_wait<0>(); wg_fence(d); wgmma(d,a[1],b[0]); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
    x=512,
)
case(
    "cpasync_wgmma",
    ["ok", "bad", "bad", "ok"],
    WG
    + """__shared__ alignas(1024) bf a[64*16], b[8*16]; const char* xp=(const char*)x; float d[4]={0,0,0,0};
 copy16((char*)a+16*t,xp+16*t); if(t<16) copy16((char*)b+16*t,xp+2048-256+16*t%256); copy_commit(); copy_wait0(); if(V!=1&&V!=3) proxy_fence(); if(V!=2) __syncthreads(); if(V==3) proxy_fence(); wg_fence(d); wgmma(d,a,b); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    x=1024,
    y=512,
)
case(
    "consumer_regs_tma_pingpong",
    ["ok", "bad"],
    WG
    + """
 __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; __shared__ u64 f[2],e[2]; if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1);bar_init(&e[k],2);} init_fence(); } __syncthreads(); const int n=6;
 if(t>=256){ if(t==256) for(int i=0;i<n;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],2304); bulk_load(a[k],x,2048,&f[k]); bulk_load(b[k],x,256,&f[k]); } }
 else { int w=t/128; float d[4]={0,0,0,0}; for(int i=0;i<n;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); __syncwarp(); wg_fence(d); wgmma(d,a[k],b[k]); wg_commit(); wg_wait<0>(); 
   if(V==0) named_sync(1+w,128); if(t%128==0) bar_arrive(&e[k]); } TIE(d); outp(y+512*w,d,t%128); } }""",
    block=288,
    x=1024,
    y=1024,
)
case(
    "stmatrix_tma_loop",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ alignas(1024) unsigned short s[2][64*8];
  for(int i=0;i<4;++i){ int k=i&1; u32 v=__float_as_uint(x[t+64*i]); 
   if(V!=2){ if(t==0) asm volatile("cp.async.bulk.wait_group.read 1;":::"memory"); __syncthreads(); }
   asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"::"r"(smem(&s[k][(t/32)*64+8*(t%8)])),"r"(v):"memory");
   if(V!=1) proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y+64*i,s[k],256); bulk_commit(); } }
  if(t==0) bulk_wait_read(); }""",
)
case(
    "ldmatrix_vs_tma",
    ["ok", "bad", "bad"],
    K
    + """
  __shared__ alignas(1024) unsigned short s[2][64*8]; __shared__ u64 f[2],e[2]; if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1);bar_init(&e[k],V==2?1:2);} init_fence(); } __syncthreads();
  if(t>=64){ if(t==64) for(int i=0;i<6;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],1024); bulk_load(s[k],x,1024,&f[k]); } }
  else { u32 acc=0; for(int i=0;i<6;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); u32 r; if(V==1 && i==3){ if(t%32==0) bar_arrive(&e[k]); } asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];":"=r"(r):"r"(smem(&s[k][(t/32)*64+8*(t%8)])):"memory"); acc+=r; __syncwarp(); if((V!=1||i!=3) && t%32==0) bar_arrive(&e[k]); } y[t]=__uint_as_float(acc); } }""",
    block=96,
)
case(
    "order_pingpong",
    ["ok", "bad"],
    WG
    + """
 __shared__ float s[128]; int w=t/128;
 if(w==1) named_arrive(1,256);
 for(int i=0;i<3;++i){ named_sync(1+w,256); s[t%128]=x[(t+i)%256]; if(V==0||i!=1) named_sync(3+w,128); float v=s[127-t%128]; if(V==0||i!=1) named_sync(3+w,128); y[t%512]=v+(i?y[t%512]:0); named_arrive(1+(w^1),256);} if(w==0) named_sync(1,256); }""",
    block=256,
    y=512,
)
case(
    "tma_store_bulk_other_commit",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; s[t]=x[t]; proxy_fence(); __syncthreads();
 if(t==0) bulk_store(y,s,256); if(t==(V==0?0:32)) { bulk_commit(); bulk_wait_read(); } __syncthreads(); s[t]=0; }""",
)
case(
    "bulk_load_into_read_slot",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){bar_init(&b,1); init_fence();} s[t]=x[t]; __syncthreads(); float v=s[63-t]; if(V==0) { proxy_fence(); __syncthreads(); } else if(V==1) __syncwarp();
 if(t==0){ bar_expect(&b,256); bulk_load(s,x+64,256,&b);} bar_wait(&b,0); y[t]=v+s[t]; }""",
)
case(
    "fence_release_no_bar",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0) bar_init(&b,32); __syncthreads();
 if(t<32){ s[t]=x[t]; s[t+32]=x[t+32]; if(V==0) proxy_fence(); bar_arrive(&b);} else { if(t==32){ bar_wait(&b,0); bulk_store(y,s,256); bulk_commit(); bulk_wait_read(); } } }""",
)
case(
    "reduce_then_read",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; unsigned* c=(unsigned*)(y+512); s[t]=x[t]; proxy_fence(); __syncthreads();
 if(t==0){ asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;"::"l"(y),"r"(smem(s)):"memory"); bulk_commit(); if(V==0) bulk_wait(); else bulk_wait_read(); if(V==0) asm volatile("fence.proxy.async;":::"memory"); __threadfence(); atomicAdd(c,1); while(atomicAdd(c,0)<gridDim.x); __threadfence(); }
 __syncthreads(); if(blockIdx.x==0) y[128+t]=y[t]; }""",
    grid=2,
    y=1024,
)
case(
    "m64n8_tf32",
    ["ok"],
    WG
    + F
    + """
 wg_fence(d); asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"l"(tile(a[0])),"l"(tile(b[0])):"memory"); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
)
case(
    "wait_in_one_branch",
    ["ok", "bad"],
    WG
    + F
    + """
 wg_fence(d); wgmma(d,a[0],b[0]); wg_commit(); if(V==0 || x[0]>1e30f) wg_wait<0>(); if(x[1]<1e30f){ TIE(d); outp(y,d,t);} wg_wait<0>(); }""",
    block=128,
    y=512,
)
case(
    "fence_missing_first",
    ["ok", "bad"],
    WG
    + F
    + """
 float v=x[t]; d[0]=d[1]=d[2]=d[3]=v; TIE(d); if(V==0) wg_fence(d); wgmma(d,a[0],b[0]); wg_commit(); wg_wait<0>(); TIE(d); outp(y,d,t); }""",
    block=128,
    y=512,
)
case(
    "tma_producer_two_threads",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[2][64]; __shared__ u64 b; if(t==0){bar_init(&b,V==0?2:1); init_fence();} __syncthreads();
 if(t==0){ bar_expect(&b,256); bulk_load(s[0],x,256,&b);} if(t==32){ bar_expect(&b,256); bulk_load(s[1],x+64,256,&b);} bar_wait(&b,0); y[t]=s[0][63-t]+s[1][63-t]; }""",
)
case(
    "expect_no_arrive_before_load",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){bar_init(&b,1); init_fence();} __syncthreads();
 if(t==0){ if(V==0) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;"::"r"(smem(&b)):"memory"); bulk_load(s,x,256,&b); if(V==1) { bar_arrive(&b); asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;"::"r"(smem(&b)):"memory"); } else bar_arrive(&b);} bar_wait(&b,0); y[t]=s[63-t]; }""",
)
case(
    "load_before_expect",
    ["ok"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){bar_init(&b,1); init_fence();} __syncthreads();
 if(t==0){ bulk_load(s,x,256,&b); bar_expect(&b,256);} bar_wait(&b,0); y[t]=s[63-t]; }""",
)

case(
    "persistent_ws_epilogue",
    ["ok", "bad", "bad"],
    """typedef unsigned short bf;
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x;
 __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; __shared__ alignas(128) float o[2][512]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1);bar_init(&e[k],4);} init_fence(); } __syncthreads();
 const int tiles=4, ks=3;
 if(t>=128){ if(t==128){ int i=0; for(int T=0;T<tiles;++T) for(int k=0;k<ks;++k,++i){ int s=i&1; bar_wait(&e[s],((i>>1)&1)^1); bar_expect(&f[s],2304); bulk_load(a[s],x+512*T%1024,2048,&f[s]); bulk_load(b[s],x,256,&f[s]); } } }
 else { int i=0; for(int T=0;T<tiles;++T){ float d[4]={0,0,0,0}; wg_fence(d);
   for(int k=0;k<ks;++k,++i){ int s=i&1; bar_wait(&f[s],(i>>1)&1); __syncwarp(); wg_fence(d); wgmma(d,a[s],b[s]); wg_commit(); wg_wait<0>(); TIE(d); if(t%32==0) bar_arrive(&e[s]); }
   if(V!=1){ if(t==0) asm volatile("cp.async.bulk.wait_group.read 1;":::"memory"); } named_sync(1,128);
   for(int j=0;j<4;++j) o[T&1][t*4+j]=d[j]; if(V!=2) proxy_fence(); named_sync(1,128);
   if(t==0){ bulk_store(y+512*T,o[T&1],2048); bulk_commit(); } }
  if(t==0) bulk_wait_read(); } }""",
    block=160,
    x=2048,
    y=2048,
)
case(
    "warp_agg_mbar_by_elect",
    ["ok", "bad"],
    K
    + """
 __shared__ float s[64]; __shared__ u64 b; if(t==0) bar_init(&b,2); __syncthreads(); s[t]=x[t]; 
 u32 p; asm volatile("{.reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0,1,0,q;}":"=r"(p)); if(V==0) __syncwarp(); if(p) bar_arrive(&b); bar_wait(&b,0); y[t]=s[63-t]; }""",
)
case(
    "lap_two_stage",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 f,e; if(t==0){bar_init(&f,1); bar_init(&e,V==0?2:1); init_fence();} __syncthreads();
 if(t<32){ if(t==0) for(int i=0;i<6;++i){ bar_wait(&e,(i&1)^1); bar_expect(&f,256); bulk_load(s,x,256,&f);} }
 else if(t<64){ for(int i=0;i<6;++i){ bar_wait(&f,i&1); y[t]=s[t]; __syncwarp(); if(t==32) bar_arrive(&e);} }
 else { for(int i=0;i<6;++i){ if(V==0||i%2==0) bar_wait(&f,i&1); if(V==0){ __syncwarp(); if(t==64) bar_arrive(&e);} } } }""",
    block=96,
)
case(
    "cluster_reduce_dsmem",
    ["ok", "bad", "bad"],
    """extern "C" __global__ void __cluster_dims__(4,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ float s[64], part[4];
 float v=x[t+64*r]; for(int o=16;o;o/=2) v+=__shfl_xor_sync(~0u,v,o); if(t%32==0) s[t/32]=v; __syncthreads();
 if(V!=1) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 if(t<4){ u32 a; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&part[r])), "r"(t)); asm volatile("st.shared::cluster.f32 [%0], %1;"::"r"(a),"f"(s[0]+s[1]):"memory"); }
 if(V==2) __syncthreads(); else asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 if(t==0) y[r]=part[0]+part[1]+part[2]+part[3];
 if(V==2) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }""",
    grid=4,
    cluster=4,
)
case(
    "cg_grid_sync",
    ["ok"],
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* bar=(unsigned*)(y+1000);
 auto sync=[&]{ __syncthreads(); if(t==0){ unsigned inc=1; if(blockIdx.x==0) inc=0x80000000u-(gridDim.x-1); __threadfence(); unsigned old=atomicAdd(bar,inc); while((((old ^ *(volatile unsigned*)bar)&0x80000000u)==0)); __threadfence(); } __syncthreads(); };
 for(int i=0;i<3;++i){ y[64*blockIdx.x+t]=x[t]+i; sync(); float v=y[64*((blockIdx.x+1)%gridDim.x)+t]; sync(); y[512+64*blockIdx.x+t]=v; } }""",
    grid=3,
    y=1024,
)
case(
    "cp_async_groups_mix",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(16) float a[256], b[256]; copy16(a+4*t,x+4*t); copy_commit(); copy16(b+4*t,x+256+4*t); copy_commit();
 asm volatile("cp.async.wait_group 1;":::"memory"); __syncthreads(); float v=a[255-t]; if(V==0) { copy_wait0(); __syncthreads(); } y[t]=v+b[255-t]; }""",
    x=512,
)
case(
    "mbar_cp_async_full",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(16) float s[2][128]; __shared__ u64 f[2],e[2]; if(t==0){ for(int k=0;k<2;++k){ bar_init(&f[k],32); bar_init(&e[k],32);} } __syncthreads();
 if(t<32) for(int i=0;i<5;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); copy16(&s[k][4*t],x+4*t+16*i); 
   if(V==0) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"::"r"(smem(&f[k])):"memory"); else bar_arrive(&f[k]); }
 else for(int i=0;i<5;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); y[32*i+t]=s[k][127-(t-32)]; bar_arrive(&e[k]); } copy_wait0(); }""",
)
case(
    "warp_role_switch",
    ["ok", "bad"],
    K
    + """
 __shared__ float s[64]; for(int i=0;i<4;++i){ if((t/32)==(i&1)) { s[t%32]=x[t+i]; s[32+t%32]=x[t]; } __syncthreads(); y[t+64*i]=s[63-t]; if(V==0) __syncthreads(); } }""",
)
case(
    "atomic_shared_flag",
    ["ok", "bad", "bad"],
    K
    + """
 __shared__ float s[64]; __shared__ unsigned n; if(t==0) n=0; __syncthreads();
 if(t>=32){ s[t]=x[t]; if(V!=1) __threadfence_block(); atomicAdd(&n,1); } else { while(atomicAdd(&n,0)<32); if(V!=2) __threadfence_block(); y[t]=s[32+(31-t)]; } }""",
)
case(
    "mma_ldmatrix_loop",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) unsigned short s[2][512]; float d[4]={0,0,0,0}; 
 for(int i=0;i<4;++i){ int k=V==0?(i&1):0; copy16(&s[k][8*t],x+4*t); copy_commit(); copy_wait0(); __syncthreads();
  u32 r[4]; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(smem(&s[k][8*(63-t)])):"memory");
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(r[0]),"r"(r[1]),"r"(r[2]),"r"(r[3]),"r"(r[0]),"r"(r[1])); }
 y[t]=d[0]; }""",
)
case(
    "multi_tile_flags",
    ["ok", "bad"],
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* f=(unsigned*)(y+900);
 if(blockIdx.x<2){ for(int i=0;i<2;++i){ y[128*blockIdx.x+64*i+t]=x[t]; __syncthreads(); if(t==0) asm volatile("st.release.gpu.global.u32 [%0], 1;"::"l"(f+2*blockIdx.x+i):"memory"); } }
 else { for(int i=0;i<4;++i){ if(t==0){ unsigned v; do asm volatile("ld.acquire.gpu.global.u32 %0,[%1];":"=r"(v):"l"(f+(V==0?i:i&~1)):"memory"); while(!v);} __syncthreads(); y[512+64*i+t]=y[64*i+63-t]; } } }""",
    grid=3,
    y=1024,
)
case(
    "sem_two_waiters",
    ["ok", "bad"],
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; int* s=(int*)(y+900); int b=blockIdx.x;
 if(t==0){ int v; do asm volatile("ld.acquire.gpu.global.s32 %0,[%1];":"=r"(v):"l"(s):"memory"); while(v!=b); } __syncthreads();
 float v=b?y[t]:0; y[t]=v+x[t+64*b]; if(V==0) __syncthreads(); if(t==0) asm volatile("red.release.gpu.global.add.s32 [%0],1;"::"l"(s):"memory"); }""",
    grid=3,
    y=1024,
)
case(
    "tma_store_then_exit_no_wait",
    ["bad", "ok"],
    K
    + """
 __shared__ alignas(128) float s[64]; s[t]=x[t]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y,s,256); bulk_commit(); if(V==1) bulk_wait_read(); } }""",
)
case(
    "init_by_other_warp",
    ["ok", "bad"],
    K
    + """
 __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==32){ bar_init(&b,1); init_fence(); } if(V==0) __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x,256,&b);} __syncthreads(); bar_wait(&b,0); y[t]=s[t]; }""",
)
