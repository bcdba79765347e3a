# ruff: noqa: E501 (CUDA texts)
"""Further right and wrong forms: relaxed waits, remote copies, rings of products, member masks."""

from __future__ import annotations

from typing import Any

FURTHER: dict[str, tuple[str, dict[str, Any]]] = {}


def pair(name: str, code: str, **launch: Any) -> None:
    """Keep a pair."""
    FURTHER[name] = (code, launch)


pair(
    "relaxed_wait_then_acquire_fence",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b;
 if(t==0) bar_init(&b,64); __syncthreads();
 s[t]=x[t]*2; IF_FIXED(proxy_fence();)
 asm volatile("fence.acq_rel.cta; mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];"::"r"(smem(&b)):"memory");
 if(t==0){ asm volatile("{\\n.reg .pred p;\\nWAIT:\\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%0], 0;\\n@!p bra WAIT;\\n}"::"r"(smem(&b)):"memory");
  asm volatile("fence.acq_rel.cta;":::"memory"); bulk_store(y,s,256); bulk_commit(); bulk_wait_read(); } }""",
)

pair(
    "device_counter_last_block",
    """__device__ unsigned counter; __device__ float part[8];
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ bool last; float v=x[t+64*blockIdx.x];
 for(int o=16;o;o/=2) v+=__shfl_down_sync(~0u,v,o); __shared__ float w[2]; if(t%32==0) w[t/32]=v; __syncthreads();
 if(t==0){ part[blockIdx.x]=w[0]+w[1]; IF_FIXED(__threadfence();) last=atomicInc(&counter,gridDim.x-1)==gridDim.x-1; } __syncthreads();
 if(last){ __threadfence(); if(t==0){ float a=0; for(int i=0;i<gridDim.x;++i) a+=((volatile float*)part)[i]; y[0]=a; } } }""",
    grid=3,
)

pair(
    "store_ring_barrier_before_wait",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64];
 for(int i=0;i<3;++i){ IF_WRONG(__syncthreads();) if(t==0) bulk_wait_read(); IF_FIXED(__syncthreads();) s[t]=x[t+64*i]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y+64*i,s,256); bulk_commit(); } }
 if(t==0) bulk_wait_read(); }""",
)

pair(
    "one_waiter_then_block_barrier",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads();
 for(int i=0;i<3;++i){ if(t==0){ bar_expect(&b,256); bulk_load(s,x+64*i,256,&b); bar_wait(&b,i&1);} IF_FIXED(__syncthreads();) y[t+64*i]=s[63-t]; __syncthreads(); } }""",
)

pair(
    "load_without_second_barrier",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads();
 for(int i=0;i<3;++i){ if(t==0){ bar_expect(&b,256); bulk_load(s,x+64*i,256,&b);} bar_wait(&b,i&1); y[t+64*i]=s[63-t]; IF_FIXED(__syncthreads();) } }""",
)

pair(
    "copy_and_expect_by_two_threads",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads();
 for(int i=0;i<3;++i){ if(t==0) bar_expect(&b,IF_FIXED(256) IF_WRONG(128)); if(t==32) bulk_load(s,x+64*i,256,&b); bar_wait(&b,i&1); y[t+64*i]=s[63-t]; __syncthreads(); } }""",
)

pair(
    "reinit_each_tile",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b;
 for(int i=0;i<3;++i){ if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x+64*i,256,&b);} bar_wait(&b,0); y[t+64*i]=s[63-t]; __syncthreads(); IF_FIXED(if(t==0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];"::"r"(smem(&b)):"memory");) } }""",
)

pair(
    "shared_counter_read",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ int c; if(t==0) c=0; __syncthreads(); if(x[t]>0.f) atomicAdd(&c,1); IF_FIXED(__syncthreads();) y[t]=c; }""",
)

pair(
    "shared_spin_lock",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ int l; __shared__ float a; if(t==0){ l=0; a=0; } __syncthreads();
 if(t%32==0){ while(atomicCAS(&l,0,1)); __threadfence_block(); a+=x[t]; IF_FIXED(__threadfence_block();) atomicExch(&l,0); } __syncthreads(); y[t]=a; }""",
    block=128,
)

pair(
    "acq_rel_ticket",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* c=(unsigned*)(y+128); __shared__ unsigned k;
 y[t+64*blockIdx.x]=x[t]+blockIdx.x; __syncthreads();
 if(t==0) asm volatile(IF_FIXED("atom.add.acq_rel.gpu.u32 %0, [%1], 1;") IF_WRONG("atom.add.relaxed.gpu.u32 %0, [%1], 1;") :"=r"(k):"l"(c):"memory"); __syncthreads();
 if(k==1) y[129+t]=y[t]+y[64+t]; }""",
    grid=2,
)

pair(
    "tile_loop_end_sync",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; for(int i=blockIdx.x;i<4;i+=gridDim.x){ s[t]=x[t+64*i]; __syncthreads(); y[t+64*i]=s[63-t]; IF_FIXED(__syncthreads();) } }""",
    grid=2,
)

pair(
    "prefetch_two_in_two_buffers",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; const int S=IF_FIXED(3) IF_WRONG(2); __shared__ alignas(16) float s[S][256]; 
 for(int i=0;i<2;++i){ copy16(&s[i%S][4*t],x+4*t+64*i); copy_commit(); }
 for(int i=0;i<4;++i){ asm volatile("cp.async.wait_group 1;":::"memory"); __syncthreads(); y[t+64*i]=s[i%S][255-t]; if(i+2<4) copy16(&s[(i+2)%S][4*t],x+4*t+64*(i+2)); copy_commit(); } }""",
    x=1024,
)

pair(
    "ldmatrix_of_own_warp",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) unsigned s[2][128]; int w=t/32; for(int i=0;i<4;++i) s[w][t%32+32*i]=__float_as_uint(x[(t+32*i)%256]); IF_FIXED(__syncwarp();)
 u32 r[4]; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(smem(&s[w][4*(t%32)])):"memory"); y[t]=__uint_as_float(r[0]^r[1]^r[2]^r[3]); }""",
)

pair(
    "stmatrix_then_bulk_store",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) unsigned s[128]; u32 r=__float_as_uint(x[t]);
 asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"::"r"(smem(&s[32*(t/32)+4*(t%8)])),"r"(r):"memory"); IF_FIXED(proxy_fence();) __syncthreads(); if(t==0){ bulk_store(y,s,256); bulk_commit(); bulk_wait_read(); } }""",
)

pair(
    "dsmem_bulk",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ alignas(128) float s[64], d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); bar_expect(&b,256); } s[t]=x[t+64*r]; IF_FIXED(proxy_fence();) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 if(t==0){ u32 dd,bb; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(dd):"r"(smem(d)),"r"(r^1)); asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(bb):"r"(smem(&b)),"r"(r^1));
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"::"r"(dd),"r"(smem(s)),"r"(bb):"memory"); }
 bar_wait(&b,0); y[t+64*r]=d[63-t]; asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
)

pair(
    "dsmem_bulk_no_last_sync",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ alignas(128) float s[64], d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); bar_expect(&b,256); } s[t]=x[t+64*r]; proxy_fence(); asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 if(t==0){ u32 dd,bb; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(dd):"r"(smem(d)),"r"(r^1)); asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(bb):"r"(smem(&b)),"r"(r^1));
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"::"r"(dd),"r"(smem(s)),"r"(bb):"memory"); }
 IF_FIXED(bar_wait(&b,0); y[t+64*r]=d[63-t];) IF_WRONG(s[t]=0; bar_wait(&b,0); y[t+64*r]=d[63-t];) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
)

pair(
    "arrive_drop",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; __shared__ u64 b; if(t==0) bar_init(&b,64); __syncthreads();
 s[t]=x[t]; if(t>=32){ asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];"::"r"(smem(&b)):"memory"); return; } bar_arrive(&b); bar_wait(&b,0); float v=s[t+32]; s[t]=v; IF_FIXED(bar_arrive(&b);) bar_wait(&b,1); y[t]=s[31-t]; }""",
)

pair(
    "test_wait_poll",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x,256,&b);} u32 ok; 
 do { asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p; }":"=r"(ok):"r"(smem(&b)),"r"(IF_FIXED(0) IF_WRONG(1)):"memory"); } while(!ok); y[t]=s[63-t]; }""",
)

pair(
    "wait_once_no_loop",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x,256,&b);} 
 IF_FIXED(bar_wait(&b,0);) IF_WRONG(asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; }"::"r"(smem(&b)):"memory");) y[t]=s[63-t]; }""",
)

pair(
    "syncthreads_count_broadcast",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; s[t]=x[t]; int n=IF_FIXED(__syncthreads_count(x[t]>0)) IF_WRONG(__popc(__ballot_sync(~0u,x[t]>0))); y[t]=s[63-t]*n; }""",
)

pair(
    "byte_neighbours",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(16) unsigned char s[64]; IF_FIXED(s[t]=(unsigned char)t;) IF_WRONG(if(t<63) *(volatile unsigned short*)(s+(t&~1))=(unsigned short)t;) __syncthreads(); y[t]=s[63-t]; }""",
)

pair(
    "reduce_sync_groups",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; unsigned m=__ballot_sync(~0u,x[t]&1); int v=0; if(x[t]&1) v=__reduce_add_sync(IF_FIXED(m) IF_WRONG(~0u),x[t]); y[t]=v; }""",
    xd="i32",
    yd="i32",
)

pair(
    "partial_bar_sync_reg",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[2][64]; int g=t/64; s[g][t%64]=x[t]; asm volatile("barrier.sync %0, %1;"::"r"(g+1),"r"(IF_FIXED(64) IF_WRONG(128)):"memory"); y[t]=s[g][63-t%64]; }""",
    block=128,
)

pair(
    "bulk_tail_by_threads",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,IF_FIXED(1) IF_WRONG(2)); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,240); bulk_load(s,x,240,&b);} if(t>=60) s[t]=x[t]; bar_wait(&b,0); __syncthreads(); y[t]=s[63-t]; }""",
)

pair(
    "generic_fill_then_bulk_over_it",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; __shared__ u64 b; s[t]=0; IF_FIXED(proxy_fence();) if(t==0){ bar_init(&b,1); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x,256,&b);} bar_wait(&b,0); y[t]=s[63-t]; }""",
)

pair(
    "cooperative_groups_grid_sync",
    """#define SYNC(b) { __syncthreads(); if(threadIdx.x==0){ unsigned inc=1; if(blockIdx.x==0) inc=0x80000000u-(gridDim.x-1); IF_FIXED(__threadfence();) unsigned old=atomicAdd(b,inc); while((((old ^ *(volatile unsigned*)b) & 0x80000000u)==0)); __threadfence(); } __syncthreads(); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* b=(unsigned*)(y+240); y[t+64*blockIdx.x]=x[t]+blockIdx.x; SYNC(b) float v=y[63-t+64*((blockIdx.x+1)%3)]; SYNC(b) y[t+64*blockIdx.x]=v; }""",
    grid=3,
)

pair(
    "two_consumers_release",
    """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
__device__ void tied(float(&d)[4]){ asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])::"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][2][64*16], b[2][8*16]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){ bar_init(&f[k],1); IF_FIXED(bar_init(&e[k],8);) IF_WRONG(bar_init(&e[k],4);) } init_fence(); } __syncthreads(); const int n=5;
 if(t>=256){ if(t==256) for(int i=0;i<n;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],4096+256); bulk_load(a[k],x,4096,&f[k]); bulk_load(b[k],x,256,&f[k]); } }
 else { int g=t/128; float d[4]={0,0,0,0}; wg_fence(d); for(int i=0;i<n;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); __syncwarp(); wg_fence(d); wgmma(d,a[k][g],b[k]); wg_commit(); wg_wait<0>(); tied(d); __syncwarp(); if(t%32==0) bar_arrive(&e[k]); } outp(y+512*g,d,t%128); } }""",
    block=288,
    x=1024,
    y=1024,
)

pair(
    "release_before_wait_group",
    """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
__device__ void tied(float(&d)[4]){ asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])::"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){ bar_init(&f[k],1); bar_init(&e[k],4); } init_fence(); } __syncthreads(); const int n=5;
 if(t>=128){ if(t==128) for(int i=0;i<n;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],2048+256); bulk_load(a[k],x,2048,&f[k]); bulk_load(b[k],x,256,&f[k]); } }
 else { float d[4]={0,0,0,0}; wg_fence(d); for(int i=0;i<n;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); __syncwarp(); wg_fence(d); wgmma(d,a[k],b[k]); wg_commit(); IF_FIXED(wg_wait<0>();) __syncwarp(); if(t%32==0) bar_arrive(&e[k]); IF_WRONG(wg_wait<0>();) tied(d); } outp(y,d,t); } }""",
    block=160,
    x=1024,
    y=512,
)

pair(
    "only_one_warp_releases",
    """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
__device__ void tied(float(&d)[4]){ asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])::"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){ bar_init(&f[k],1); bar_init(&e[k],1); } init_fence(); } __syncthreads(); const int n=5;
 if(t>=128){ if(t==128) for(int i=0;i<n;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],2048+256); bulk_load(a[k],x,2048,&f[k]); bulk_load(b[k],x,256,&f[k]); } }
 else { float d[4]={0,0,0,0}; wg_fence(d); for(int i=0;i<n;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); __syncwarp(); wg_fence(d); wgmma(d,a[k],b[k]); wg_commit(); wg_wait<0>(); tied(d); IF_FIXED(named_sync(1,128);) if(t==0) bar_arrive(&e[k]); } outp(y,d,t); } }""",
    block=160,
    x=1024,
    y=512,
)

pair(
    "acc_read_with_wait_1",
    """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
__device__ void tied(float(&d)[4]){ asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])::"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; fill(a[0],x,t,2048,128); fill(b[0],x,t,256,128); proxy_fence(); __syncthreads(); float d[4]={0,0,0,0}, e[4]={0,0,0,0};
 wg_fence(d); wg_fence(e); wgmma(d,a[0],b[0]); wg_commit(); wgmma(e,a[1],b[1]); wg_commit(); asm volatile("wgmma.wait_group.sync.aligned 1;":::"memory"); IF_FIXED(tied(d); outp(y,d,t);) IF_WRONG(tied(e); outp(y+512,e,t);) wg_wait<0>(); IF_FIXED(tied(e); outp(y+512,e,t);) IF_WRONG(tied(d); outp(y,d,t);) }""",
    block=128,
    y=1024,
)

pair(
    "softmax_between_products",
    """typedef unsigned short bf;
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
__device__ void tied(float(&d)[4]){ asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])::"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(1024) bf a[64*16], b[8*16], c[8*16]; fill(a,x,t,1024,128); fill(b,x,t,128,128); fill(c,x,t,128,128); proxy_fence(); __syncthreads(); float s[4]={0,0,0,0}, o[4]={0,0,0,0};
 for(int i=0;i<3;++i){ s[0]=s[1]=s[2]=s[3]=0; wg_fence(s); wgmma(s,a,b); wg_commit(); wg_wait<0>(); tied(s); u32 p[4]; for(int j=0;j<4;++j) p[j]=__float_as_uint(s[j])>>16; for(int j=0;j<4;++j) o[j]*=0.5f; tie(p); IF_FIXED(wg_fence(o);) wgmma_reg(o,p,c); wg_commit(); wg_wait<0>(); tied(o); } outp(y,o,t); }""",
    block=128,
    y=512,
)

pair(
    "multicast_pair_ring",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){ bar_init(&f[k],1); bar_init(&e[k],2); } init_fence(); } asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 for(int i=0;i<5;++i){ int k=i&1;
  if(t==0){ bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],256); asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], %3;"::"r"(smem(&s[k][32*r])),"l"(x+64*(i&3)+32*r),"r"(smem(&f[k])),"h"((unsigned short)3):"memory"); }
  bar_wait(&f[k],(i>>1)&1); if(t<64) y[t+64*((i+r)&3)+256*r]=s[k][63-t]; __syncthreads();
  if(t<2){ u32 q; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(q):"r"(smem(&e[k])),"r"(IF_FIXED(t) IF_WRONG(0*t+(int)r)));  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"::"r"(q):"memory"); } }
 asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
    y=512,
)

pair(
    "dsmem_reduce",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ float s[64]; s[t]=x[t+64*r]; asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); float v=0; for(u32 q=0;q<2;++q){ u32 a; float f; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(a):"r"(smem(&s[t])),"r"(q)); asm volatile("ld.shared::cluster.f32 %0, [%1];":"=f"(f):"r"(a):"memory"); v+=f; } y[t+64*r]=v; IF_FIXED(asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");) }""",
    grid=2,
    cluster=2,
)

pair(
    "dsmem_atomics",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ int h[32]; if(t<32) h[t]=0; IF_FIXED(asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");) IF_WRONG(__syncthreads();) u32 a; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(a):"r"(smem(&h[t%32])),"r"(r^1)); asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;"::"r"(a):"memory"); asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); if(t<32) y[t+32*r]=h[t]; }""",
    grid=2,
    cluster=2,
)

pair(
    "cluster_arrive_wait_split",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ float s[64]; s[t]=x[t+64*r]; asm volatile("barrier.cluster.arrive.release.aligned;":::"memory"); float w=x[t]*2; IF_FIXED(asm volatile("barrier.cluster.wait.acquire.aligned;":::"memory");) u32 a; float f; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(a):"r"(smem(&s[63-t])),"r"(r^1)); asm volatile("ld.shared::cluster.f32 %0, [%1];":"=f"(f):"r"(a):"memory"); y[t+64*r]=f+w; IF_WRONG(asm volatile("barrier.cluster.wait.acquire.aligned;":::"memory");) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
)

pair(
    "streamk_fixup_wait",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; int* flag=y+200; int* ws=y+64; int b=blockIdx.x; if(b==1){ ws[t]=x[t]; IF_FIXED(__syncthreads();) if(t==0){ asm volatile("st.release.gpu.global.s32 [%0], 1;"::"l"(flag):"memory"); } } else { if(t==0){ int v; do{ asm volatile("ld.acquire.gpu.global.s32 %0, [%1];":"=r"(v):"l"(flag):"memory"); }while(!v); } __syncthreads(); y[t]=ws[63-t]; } }""",
    grid=2,
    xd="i32",
    yd="i32",
)

pair(
    "flag_reset_for_next_launch",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; unsigned* c=(unsigned*)(y+200); __shared__ int last; y[64*blockIdx.x+t]=x[t]; __threadfence(); __syncthreads(); if(t==0){ last=atomicAdd(c,1)==2; } __syncthreads(); if(last){ __threadfence(); int v=0; for(int i=0;i<3;++i) v+=((volatile int*)y)[64*i+t]; y[192+t%8]=0; if(t==0) *c=0; IF_WRONG(y[64+63-t]=v;) IF_FIXED(__syncthreads(); y[64+63-t]=v;) } }""",
    grid=3,
    xd="i32",
    yd="i32",
)

pair(
    "split_k_atomic_float",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; IF_FIXED(atomicAdd(&y[t],x[t+64*blockIdx.x]);) IF_WRONG(y[t]+=x[t+64*blockIdx.x];) }""",
    grid=3,
)

pair(
    "split_k_zero_by_first_cta",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; IF_WRONG(if(blockIdx.x==0) y[t]=0;) atomicAdd(&y[t],x[t+64*blockIdx.x]); }""",
    grid=3,
)

pair(
    "volatile_flag_across_warps",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; __shared__ volatile int f; if(t==0) f=0; __syncthreads(); if(t<32){ s[t]=x[t]; IF_FIXED(__threadfence_block();) __syncwarp(); if(t==0) f=1; } else { while(!f); IF_FIXED(__threadfence_block();) y[t-32]=s[63-t]; } }""",
)

pair(
    "warp_aggregate_then_sync",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; __shared__ int w[2]; int v=__popc(__ballot_sync(~0u,x[t]&1)); if(t%32==0) w[t/32]=v; IF_FIXED(__syncthreads();) IF_WRONG(__syncwarp();) y[t]=w[0]+w[1]; }""",
    xd="i32",
    yd="i32",
)

pair(
    "block_scan_ping_pong",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[2][64]; int p=0; s[0][t]=x[t]; __syncthreads(); for(int o=1;o<64;o*=2){ IF_FIXED(s[p^1][t]=t>=o?s[p][t]+s[p][t-o]:s[p][t]; p^=1;) IF_WRONG(if(t>=o) s[p][t]+=s[p][t-o];) __syncthreads(); } y[t]=s[p][t]; }""",
)

pair(
    "transpose_pad",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[8][9]; s[t/8][t%8]=x[t]; IF_FIXED(__syncthreads();) y[t]=s[t%8][t/8]; }""",
)

pair(
    "tma_reduce_scatter_order",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; s[t]=x[t]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y,s,256); bulk_commit(); IF_FIXED(bulk_wait();) IF_WRONG(bulk_wait_read();) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;"::"l"(y),"r"(smem(s)):"memory"); bulk_commit(); bulk_wait(); } }""",
)

pair(
    "bulk_store_then_load_back",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64],d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } s[t]=x[t]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y,s,256); bulk_commit(); IF_FIXED(bulk_wait();) IF_WRONG(bulk_wait_read();) bar_expect(&b,256); bulk_load(d,y,256,&b); } bar_wait(&b,0); y[64+t]=d[63-t]; }""",
)

pair(
    "generic_global_write_then_bulk_load",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float d[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } y[t]=x[t]; IF_FIXED(asm volatile("fence.proxy.async;":::"memory");) __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(d,y,256,&b); } bar_wait(&b,0); y[64+t]=d[63-t]; }""",
)

pair(
    "expect_twice_one_arrival_each",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[128]; __shared__ u64 b; if(t==0){ bar_init(&b,2); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&b,256); bulk_load(s,x,256,&b); } if(t==32){ IF_FIXED(bar_expect(&b,256);) IF_WRONG(bar_arrive(&b);) bulk_load(s+64,x+64,256,&b); } bar_wait(&b,0); y[t]=s[127-t]+s[t]; }""",
)

pair(
    "named_ring_reader_arrives_early",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[32]; for(int i=0;i<4;++i){ if(t<32){ if(i) named_sync(2,64); s[t]=x[t+32*i]; named_arrive(1,64); } else { named_sync(1,64); IF_WRONG(if(i<3) named_arrive(2,64);) y[t-32+32*i]=s[63-t]; IF_FIXED(if(i<3) named_arrive(2,64);) } } }""",
)

pair(
    "idle_waiter_and_an_even_number_of_phases",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ u64 b; if(t==0) bar_init(&b,1); __syncthreads();
 if(t==0) for(int i=0;i<IF_FIXED(2) IF_WRONG(3);++i){ bar_arrive(&b); bar_wait(&b,i&1); }
 if(t>=32) bar_wait(&b,1); y[t]=x[t]; }""",
)

pair(
    "two_arrays_overlap",
    """extern "C" __global__ void kernel(const float* x, float* y){ extern __shared__ float s[]; int t=threadIdx.x; float* a=s; float* b=s+IF_FIXED(64) IF_WRONG(48); a[t]=x[t]; __syncthreads(); float v=a[63-t]; b[t]=v; __syncthreads(); y[t]=b[t^1]; }""",
    shared=512,
)

pair(
    "legacy_warp_sync",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ volatile float s[64]; s[t]=x[t]; IF_FIXED(__syncwarp();) if(t%32<16){ float v=s[t+16]; IF_FIXED(__syncwarp(0xffff);) s[t]+=v; } IF_FIXED(__syncwarp();) y[t]=s[t&~31]; }""",
)

pair(
    "multicast_other_forgets_expect",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ alignas(128) float s[64]; __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); if(t==0){ IF_FIXED(bar_expect(&b,256);) IF_WRONG(if(r==0) bar_expect(&b,256); else bar_arrive(&b);) } asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); if(t==0&&r==0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], 3;"::"r"(smem(s)),"l"(x),"r"(smem(&b)):"memory"); bar_wait(&b,0); y[t+64*r]=s[63-t]; asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
)

pair(
    "leader_exits_before_peer_arrives",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ u64 b; if(t==0){ bar_init(&b,1); init_fence(); } asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); if(r==1&&t==0){ u32 q; asm("mapa.shared::cluster.u32 %0, %1, 0;":"=r"(q):"r"(smem(&b))); asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"::"r"(q):"memory"); } if(r==0) { IF_FIXED(bar_wait(&b,0);) y[t]=x[t]; } }""",
    grid=2,
    cluster=2,
)

pair(
    "fence_first_iteration_only",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; for(int i=0;i<3;++i){ if(t==0) bulk_wait_read(); __syncthreads(); s[t]=x[t+64*i]; IF_FIXED(proxy_fence();) IF_WRONG(if(i==0) proxy_fence();) __syncthreads(); if(t==0){ asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;"::"l"(y),"r"(smem(s)):"memory"); bulk_commit(); } } if(t==0) bulk_wait(); }""",
)

pair(
    "fence_by_issuer_before_barrier",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; s[t]=x[t]; IF_WRONG(if(t==0) proxy_fence();) __syncthreads(); IF_FIXED(if(t==0) proxy_fence();) if(t==0){ bulk_store(y,s,256); bulk_commit(); bulk_wait_read(); } }""",
)

pair(
    "named_count_96_of_128",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[96]; if(t<96){ s[t]=x[t]; named_arrive(1,IF_FIXED(128) IF_WRONG(96)); } else { named_sync(1,IF_FIXED(128) IF_WRONG(96)); y[t-96]=s[t-96]; } }""",
    block=128,
)

pair(
    "producer_two_bars_swapped",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float a[64],b[64]; __shared__ u64 f[2]; if(t==0){ bar_init(&f[0],1); bar_init(&f[1],1); init_fence(); } __syncthreads(); if(t==0){ bar_expect(&f[0],256); bulk_load(a,x,256,&f[0]); bar_expect(&f[1],256); bulk_load(b,x+64,256,&f[1]); } bar_wait(&f[IF_FIXED(0) IF_WRONG(1)],0); float v=a[63-t]; bar_wait(&f[IF_FIXED(1) IF_WRONG(0)],0); y[t]=v+b[63-t]; }""",
)

pair(
    "wait_on_even_only",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2]; if(t==0){ bar_init(&f[0],1); bar_init(&f[1],1); init_fence(); } __syncthreads(); for(int i=0;i<4;++i){ int k=i&1; if(t==0){ bar_expect(&f[k],256); bulk_load(s[k],x+64*i,256,&f[k]); } IF_FIXED(bar_wait(&f[k],i>>1);) IF_WRONG(if(!(i&1)) bar_wait(&f[k],i>>1);) y[t+64*i]=s[k][63-t]; __syncthreads(); } }""",
)

pair(
    "acquire_load_but_data_read_before",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; int* f=y+128; if(blockIdx.x==0){ y[t]=x[t]; __threadfence(); __syncthreads(); if(t==0) atomicExch(f,1); } else { int v=0; IF_WRONG(v=((volatile int*)y)[63-t];) if(t==0) while(atomicAdd(f,0)==0); __syncthreads(); __threadfence(); IF_FIXED(v=y[63-t];) y[64+t]=v; } }""",
    grid=2,
    xd="i32",
    yd="i32",
)

pair(
    "double_checked_init",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; int* f=y+128; int* d=y+64; if(t==0){ int s=atomicCAS(f,0,1); if(s==0){ *d=x[0]; __threadfence(); atomicExch(f,2); } else { while(atomicAdd(f,0)!=2); IF_FIXED(__threadfence();) } y[blockIdx.x]=*d; } }""",
    grid=3,
    block=32,
    xd="i32",
    yd="i32",
)

pair(
    "warp_divergent_bar",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; s[t]=x[t]; if(IF_FIXED(t<64) IF_WRONG(t%2)) __syncthreads(); y[t]=s[63-t]; }""",
)

pair(
    "atomic_float_then_read_by_last",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ bool last; atomicAdd(&y[t],x[t+64*blockIdx.x]); IF_FIXED(__threadfence();) __syncthreads(); if(t==0) last=atomicAdd((int*)y+128,1)==2; __syncthreads(); if(last){ IF_FIXED(__threadfence();) IF_FIXED(y[64+t]=((volatile float*)y)[t];) IF_WRONG(y[64+t]=((volatile float*)y)[t];) } }""",
    grid=3,
)

pair(
    "pdl_wait_after_load",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; IF_WRONG(float v=x[t];) asm volatile("griddepcontrol.wait;":::"memory"); IF_FIXED(float v=x[t];) y[t]=v; asm volatile("griddepcontrol.launch_dependents;"); }""",
)

pair(
    "bulk_reduce_into_a_neighbour",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const int* x, int* y){ int t=threadIdx.x; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); __shared__ alignas(128) int s[64], d[64]; __shared__ u64 b; s[t]=x[t+64*r]; d[t]=r; if(t==0){ bar_init(&b,2); init_fence(); bar_expect(&b,256); bar_expect(&b,256); } IF_FIXED(proxy_fence();) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 if(t==0) for(u32 q=0;q<2;++q){ u32 dd,bb; asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(dd):"r"(smem(d)),"r"(q)); asm("mapa.shared::cluster.u32 %0, %1, %2;":"=r"(bb):"r"(smem(&b)),"r"(q));
  asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 256, [%2];"::"r"(dd),"r"(smem(s)),"r"(bb):"memory"); }
 bar_wait(&b,0); y[t+64*r]=d[63-t]; asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");}""",
    grid=2,
    cluster=2,
    xd="i32",
    yd="i32",
)
