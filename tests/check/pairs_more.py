# ruff: noqa: E501 (CUDA texts)
"""More right and wrong forms of small CUDA kernels: schedulers, rings, semaphores, epilogues."""

from __future__ import annotations

from typing import Any

MORE: dict[str, tuple[str, dict[str, Any]]] = {}


def pair(name: str, code: str, **launch: Any) -> None:
    """Keep a pair."""
    MORE[name] = (code, launch)


pair(
    "cutlass_semaphore_streamk",
    """__device__ inline int ld_acq(int* p){int v; asm volatile("ld.global.acquire.gpu.b32 %0, [%1];":"=r"(v):"l"(p):"memory"); return v;}
__device__ inline void red_rel(int* p,int v){ asm volatile("fence.acq_rel.gpu;":::"memory"); asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;"::"l"(p),"r"(v):"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; int* flag=(int*)(y+128); float* ws=y+64; int b=blockIdx.x;
 float v=x[t+64*b];
 if(b>0){ if(t==0) while(ld_acq(flag)!=b); __syncthreads(); v+=ws[t]; }
 if(b<3) ws[t]=v; else y[t]=v;
 IF_FIXED(__syncthreads();) if(t==0) red_rel(flag,1); }""",
    grid=4,
)
pair(
    "cutlass_semaphore_no_sync_after_wait",
    """__device__ inline int ld_acq(int* p){int v; asm volatile("ld.global.acquire.gpu.b32 %0, [%1];":"=r"(v):"l"(p):"memory"); return v;}
__device__ inline void red_rel(int* p,int v){ asm volatile("fence.acq_rel.gpu;":::"memory"); asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;"::"l"(p),"r"(v):"memory"); }
extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; int* flag=(int*)(y+128); float* ws=y+64; int b=blockIdx.x;
 float v=x[t+64*b];
 if(b>0){ if(t==0) while(ld_acq(flag)!=b); IF_FIXED(__syncthreads();) v+=ws[t]; }
 if(b<3) ws[t]=v; else y[t]=v;
 __syncthreads(); if(t==0) red_rel(flag,1); }""",
    grid=4,
)
pair(
    "last_block_syncthreads_or",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* c=(unsigned*)(y+128); float* p=y+64;
 float v=x[t+64*blockIdx.x]; for(int o=16;o;o/=2) v+=__shfl_xor_sync(~0u,v,o);
 __shared__ float s[2]; if(t%32==0) s[t/32]=v; __syncthreads();
 bool last=false; if(t==0){ p[blockIdx.x]=s[0]+s[1]; IF_FIXED(__threadfence();) last=atomicAdd(c,1)==gridDim.x-1; }
 if(__syncthreads_or(last)){ __threadfence(); if(t<gridDim.x) y[t]=((volatile float*)p)[t]; } }""",
    grid=4,
)
pair(
    "decoupled_lookback",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; volatile int* st=y+64; volatile int* val=y+80; int b=blockIdx.x; __shared__ int s[64]; __shared__ int pre;
 int v=x[t+64*b]; for(int o=1;o<32;o*=2){int u=__shfl_up_sync(~0u,v,o); if(t%32>=o) v+=u;} if(t==31) s[0]=v; __syncthreads(); if(t>=32) v+=s[0];
 if(t==63){ int agg=v; int p=0; if(b>0){ while(st[b-1]==0); IF_FIXED(__threadfence();) p=val[b-1]; } val[b]=p+agg; IF_FIXED(__threadfence();) st[b]=1; pre=p; }
 __syncthreads(); if(t==63) y[b]=pre+v; }""",
    grid=3,
    xd="i32",
    yd="i32",
)
pair(
    "lookback_packed_word",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; int b=blockIdx.x;
 IF_FIXED(unsigned long long* st=(unsigned long long*)(y+64);) IF_WRONG(int2* st=(int2*)(y+64);)
 if(t==0){ int p=0; if(b>0){
   IF_FIXED(unsigned long long w; do{ asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];":"=l"(w):"l"(st+b-1):"memory"); }while((w>>32)==0); p=(int)w;)
   IF_WRONG(while(*(volatile int*)&st[b-1].y==0); p=st[b-1].x;) }
   p+=x[b];
   IF_FIXED(asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"::"l"(st+b),"l"((1ull<<32)|(unsigned)p):"memory");)
   IF_WRONG(st[b].x=p; *(volatile int*)&st[b].y=1;)
   y[b]=p; } }""",
    grid=3,
    xd="i32",
    yd="i32",
    block=32,
)
pair(
    "dynamic_scheduler_atomic",
    """extern "C" __global__ void kernel(const float* x, float* y) { __shared__ int tile; unsigned* q=(unsigned*)(y+128);
  int t = threadIdx.x;

 while(true){ if(t==0) tile=atomicAdd(q,1); __syncthreads(); int i=tile; IF_FIXED(__syncthreads();) if(i>=2) break; y[t+64*i]=x[t+64*i]*2; } }""",
    grid=2,
)
pair(
    "dynamic_scheduler_mbar",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; unsigned* q=(unsigned*)(y+192); __shared__ int tile[2]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) for(int i=0;;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); int n=atomicAdd(q,1); tile[k]=n; bar_arrive(&f[k]); if(n>=3) break; } }
 else { for(int i=0;;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); int n=tile[k]; IF_FIXED(bar_arrive(&e[k]);) if(n>=3) break; y[t-32+64*n]=x[t-32+64*n]*2; IF_WRONG(bar_arrive(&e[k^1]);) } } }""",
    grid=1,
    block=96,
)
pair(
    "early_exit_producer",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 int n=IF_FIXED(4) IF_WRONG(x[0]>1e30f?4:3);
 if(t<32){ if(t==0) for(int i=0;i<n;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],256); bulk_load(s[k],x+64*i,256,&f[k]); } }
 else for(int i=0;i<4;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); y[t-32+64*i]=s[k][95-t]; bar_arrive(&e[k]); } }""",
    block=96,
)
pair(
    "ring3_producer_phase_stuck",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[3][64]; __shared__ u64 f[3],e[3];
 if(t==0){ for(int k=0;k<3;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) { int k=0; u32 ph=1; for(int i=0;i<8;++i){ bar_wait(&e[k],ph); bar_expect(&f[k],256); bulk_load(s[k],x+32*i,256,&f[k]); if(++k==3){k=0; IF_FIXED(ph^=1;) IF_WRONG(ph=1;) } } } }
 else { int k=0; u32 ph=0; for(int i=0;i<8;++i){ bar_wait(&f[k],ph); y[t-32+64*i]=s[k][95-t]; bar_arrive(&e[k]); if(++k==3){k=0; ph^=1; } } } }""",
    block=96,
    x=512,
    y=512,
)
pair(
    "ring3_consumer_phase_stuck",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[3][64]; __shared__ u64 f[3],e[3];
 if(t==0){ for(int k=0;k<3;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) { int k=0; u32 ph=1; for(int i=0;i<8;++i){ bar_wait(&e[k],ph); bar_expect(&f[k],256); bulk_load(s[k],x+32*i,256,&f[k]); if(++k==3){k=0; IF_FIXED(ph^=1;) IF_WRONG(ph^=1;) } } } }
 else { int k=0; u32 ph=0; for(int i=0;i<8;++i){ bar_wait(&f[k],ph); y[t-32+64*i]=s[k][95-t]; bar_arrive(&e[k]); if(++k==3){k=0; IF_FIXED(ph^=1;) } } } }""",
    block=96,
    x=512,
    y=512,
)
pair(
    "ring3_producer_starts_0",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[3][64]; __shared__ u64 f[3],e[3];
 if(t==0){ for(int k=0;k<3;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) { int k=0; u32 ph=IF_FIXED(1) IF_WRONG(0); for(int i=0;i<8;++i){ bar_wait(&e[k],ph); bar_expect(&f[k],256); bulk_load(s[k],x+32*i,256,&f[k]); if(++k==3){k=0; IF_FIXED(ph^=1;) IF_WRONG(ph^=1;) } } } }
 else { int k=0; u32 ph=0; for(int i=0;i<8;++i){ bar_wait(&f[k],ph); y[t-32+64*i]=s[k][95-t]; bar_arrive(&e[k]); if(++k==3){k=0; ph^=1; } } } }""",
    block=96,
    x=512,
    y=512,
)
pair(
    "ring3_index_mod_wrong",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[3][64]; __shared__ u64 f[3],e[3];
 if(t==0){ for(int k=0;k<3;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) { int k=0; u32 ph=1; for(int i=0;i<8;++i){ bar_wait(&e[k],ph); bar_expect(&f[k],256); bulk_load(s[k],x+32*i,256,&f[k]); if(++k==3){k=0; IF_FIXED(ph^=1;) IF_WRONG(ph^=1;) } } } }
 else { int k=0; u32 ph=0; for(int i=0;i<8;++i){ bar_wait(&f[k],ph); y[t-32+64*i]=s[IF_FIXED(k) IF_WRONG((i+1)%3)][95-t]; bar_arrive(&e[k]); if(++k==3){k=0; ph^=1; } } } }""",
    block=96,
    x=512,
    y=512,
)
pair(
    "ragged_tail_bytes",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2],e[2]; const int total=224;
 if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) for(int i=0;i<4;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); int left=min(64,total-64*i); bar_expect(&f[k],IF_FIXED(left*4) IF_WRONG(256)); bulk_load(s[k],x+64*i,left*4,&f[k]); } }
 else for(int i=0;i<4;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); if(64*i+t-32<total) y[t-32+64*i]=s[k][t-32]; bar_arrive(&e[k]); } }""",
    block=96,
)
pair(
    "partial_warp_arrivals",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[48]; __shared__ u64 b;
 if(t==0){ bar_init(&b,IF_FIXED(48) IF_WRONG(64)); } __syncthreads();
 if(t<48){ s[t]=x[t]; bar_arrive(&b); } bar_wait(&b,0); y[t]=s[t%48]; }""",
)
pair(
    "arrive_per_warp_without_syncwarp",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[64]; __shared__ u64 b;
 if(t==0){ bar_init(&b,2); } __syncthreads();
 s[t]=x[t]; IF_FIXED(__syncwarp();) if(t%32==0) bar_arrive(&b); bar_wait(&b,0); y[t]=s[63-t]; }""",
)
pair(
    "init_fence_cluster_missing_sync",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ u64 b; u32 r,rb; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
 if(t==0){ bar_init(&b,1); init_fence(); }
 IF_FIXED(asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");) IF_WRONG(__syncthreads();)
 asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(smem(&b)), "r"(r ^ 1));
 if(t==0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(rb) : "memory");
 bar_wait(&b,0); y[t+64*r]=x[t];
 asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }""",
    grid=2,
    cluster=2,
)
pair(
    "init_relaxed_without_init_fence",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ u64 b; u32 r,rb; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
 if(t==0){ bar_init(&b,1); IF_FIXED(init_fence();) }
 asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
 asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(smem(&b)), "r"(r ^ 1));
 if(t==0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(rb) : "memory");
 bar_wait(&b,0); y[t+64*r]=x[t];
 asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }""",
    grid=2,
    cluster=2,
)
pair(
    "bulk_store_then_flag",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64]; int* f=(int*)(y+128);
 if(blockIdx.x==0){ s[t]=x[t]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y+64,s,256); bulk_commit(); IF_FIXED(bulk_wait();) IF_WRONG(bulk_wait_read();) IF_FIXED(asm volatile("fence.proxy.async;":::"memory");) __threadfence(); atomicExch(f,1);} }
 else { if(t==0){ while(atomicAdd(f,0)==0); __threadfence(); } __syncthreads(); y[t]=y[64+63-t]; } }""",
    grid=2,
)
pair(
    "bulk_store_ring_wait_count",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[2][64];
 for(int i=0;i<4;++i){ int k=i&1; if(t==0) asm volatile("cp.async.bulk.wait_group.read %0;"::"n"(IF_FIXED(1) IF_WRONG(2)):"memory"); __syncthreads(); s[k][t]=x[t+64*i]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y+64*i,s[k],256); bulk_commit(); } }
 if(t==0) bulk_wait_read(); }""",
)
pair(
    "bulk_store_uncommitted_wait",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64];
 for(int i=0;i<3;++i){ s[t]=x[t+64*i]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y+64*i,s,256); IF_FIXED(bulk_commit();) bulk_wait_read(); IF_WRONG(bulk_commit();) } __syncthreads(); }
 if(t==0) bulk_wait_read(); }""",
)
pair(
    "bulk_reduce_add",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64];
 s[t]=x[t+64*blockIdx.x]; IF_FIXED(proxy_fence();) __syncthreads(); if(t==0){ asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"::"l"(y),"r"(smem(s)),"r"(256):"memory"); bulk_commit(); bulk_wait(); } }""",
    grid=3,
)
pair(
    "proxy_fence_one_branch",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[64];
 for(int i=0;i<3;++i){ if(i<2){ s[t]=x[t+64*i]*2; proxy_fence(); } else { s[t]=x[t+64*i]+1; IF_FIXED(proxy_fence();) } __syncthreads(); if(t==0){ bulk_store(y+64*i,s,256); bulk_commit(); bulk_wait_read(); } __syncthreads(); } }""",
)
pair(
    "cas_lock_never_freed",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; int* l=(int*)(y+128);
 if(t==0){ while(atomicCAS(l,0,1)!=0); __threadfence(); y[0]+=x[blockIdx.x]; __threadfence(); IF_FIXED(atomicExch(l,0);) } }""",
    grid=3,
    block=32,
)
pair(
    "ticket_lock",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; int* l=(int*)(y+128);
 if(t==0){ int me=atomicAdd(l,1); while(atomicAdd(l+1,0)!=me); IF_FIXED(__threadfence();) y[0]+=x[blockIdx.x]; __threadfence(); atomicAdd(l+1,1); } }""",
    grid=3,
    block=32,
)
pair(
    "wg_wait1_releases_wrong_slot",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[3][64*16], b[3][8*16]; __shared__ u64 f[3],e[3];
 if(t==0){ for(int k=0;k<3;++k){ bar_init(&f[k],1); bar_init(&e[k],4);} init_fence(); } __syncthreads();
 const int n=7;
 if(t>=128){ if(t==128) for(int i=0;i<n;++i){ int k=i%3; bar_wait(&e[k],((i/3)&1)^1); bar_expect(&f[k],2048+256); bulk_load(a[k],x,2048,&f[k]); bulk_load(b[k],x,256,&f[k]); } }
 else { float d[4]={0,0,0,0}; wg_fence(d);
  for(int i=0;i<n;++i){ int k=i%3; bar_wait(&f[k],(i/3)&1); __syncwarp(); wgmma(d,a[k],b[k]); wg_commit(); asm volatile("wgmma.wait_group.sync.aligned 1;":::"memory");
    IF_FIXED(if(i>0 && t%32==0) bar_arrive(&e[(i-1)%3]);) IF_WRONG(if(t%32==0) bar_arrive(&e[k]);) }
  wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); } }""",
    block=160,
    x=1024,
    y=512,
)
pair(
    "wg_acc_zero_after_fence",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[64*16], b[8*16]; fill(a,x,t,1024,128); fill(b,x,t,128,128); proxy_fence(); __syncthreads();
 float d[4]={1,1,1,1};
 IF_WRONG(asm volatile("wgmma.fence.sync.aligned;":::"memory"); asm volatile("mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000; mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000;":"=f"(d[0]),"=f"(d[1]),"=f"(d[2]),"=f"(d[3]));)
 IF_FIXED(asm volatile("mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000; mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000;":"=f"(d[0]),"=f"(d[1]),"=f"(d[2]),"=f"(d[3])); wg_fence(d);)
 wgmma(d,a,b); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); }""",
    block=128,
    y=512,
)
pair(
    "wg_two_chains_same_acc",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; fill(a[0],x,t,2048,128); fill(b[0],x,t,256,128); proxy_fence(); __syncthreads();
 float d[4]={0,0,0,0}; wg_fence(d); wgmma(d,a[0],b[0]); wg_commit();
 IF_WRONG(d[0]*=2; d[1]*=2; d[2]*=2; d[3]*=2;) IF_FIXED(wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); d[0]*=2;d[1]*=2;d[2]*=2;d[3]*=2;)
 wg_fence(d); wgmma(d,a[1],b[1]); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); }""",
    block=128,
    y=512,
)
pair(
    "wg_missing_commit_last",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; fill(a[0],x,t,2048,128); fill(b[0],x,t,256,128); proxy_fence(); __syncthreads();
 float d[4]={0,0,0,0}; wg_fence(d); wgmma(d,a[0],b[0]); wg_commit(); wgmma(d,a[1],b[1]); IF_FIXED(wg_commit();) wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); }""",
    block=128,
    y=512,
)
pair(
    "wg_epilogue_smem_reuse",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[64*16], b[8*16]; fill(a,x,t,1024,128); fill(b,x,t,128,128); proxy_fence(); __syncthreads();
 float d[4]={0,0,0,0}; wg_fence(d); wgmma(d,a,b); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]));
 float* s=(float*)a; IF_FIXED(__syncthreads();) for(int i=0;i<4;++i) s[((t+64)%128)*4+i]=d[i]; proxy_fence(); __syncthreads(); if(t==0){ bulk_store(y,s,2048); bulk_commit(); bulk_wait_read(); } }""",
    block=128,
    y=512,
)
pair(
    "wg_cp_async_fence_in_tail",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[2][64*16], b[2][8*16]; const char* xp=(const char*)x;
 auto load=[&](int k,int i){ copy16((char*)a[k]+16*t, xp+16*t+64*(i&3)); if(t<16) copy16((char*)b[k]+16*t, xp+16*t); copy_commit(); };
 float d[4]={0,0,0,0}; load(0,0);
 for(int i=0;i<3;++i){ load((i+1)&1,i+1); asm volatile("cp.async.wait_group 1;":::"memory"); proxy_fence(); __syncthreads(); wg_fence(d); wgmma(d,a[i&1],b[i&1]); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); __syncthreads(); }
 copy_wait0(); IF_FIXED(proxy_fence();) __syncthreads(); wg_fence(d); wgmma(d,a[1],b[1]); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); }""",
    block=128,
    x=1024,
    y=512,
)
pair(
    "wg_fence_after_barrier_only_one_warp",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[64*16], b[8*16]; fill(a,x,t,1024,128); fill(b,x,t,128,128); __syncthreads(); IF_FIXED(proxy_fence();) IF_WRONG(if(t<32) proxy_fence();)
 float d[4]={0,0,0,0}; wg_fence(d); wgmma(d,a,b); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t); }""",
    block=128,
    y=512,
)
pair(
    "wg_divergent",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; __shared__ alignas(1024) bf a[64*16], b[8*16]; fill(a,x,t,1024,256); fill(b,x,t,128,256); proxy_fence(); __syncthreads();
 float d[4]={0,0,0,0}; if(IF_FIXED(t<128) IF_WRONG(t<96)){ wg_fence(d); wgmma(d,a,b); wg_commit(); wg_wait<0>(); asm volatile("":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3])); outp(y,d,t);} }""",
    block=256,
    y=512,
)
pair(
    "pingpong_id_clash",
    """typedef unsigned short bf;
#define KERN extern "C" __global__ void kernel(const float* x, float* y)
__device__ void fill(bf* a,const float* x,int t,int n,int step){ for(int i=t;i<n;i+=step) a[i]=(bf)(__float_as_uint(x[i%256])>>16); }
__device__ void outp(float*y,float(&d)[4],int t){ for(int i=0;i<4;++i) y[t*4+i]=d[i]; }
KERN{ int t=threadIdx.x; int w=t/128; __shared__ float s[2][128];
 for(int i=0;i<3;++i){ s[w][t%128]=x[(t+i)%256]; asm volatile("bar.sync %0, 128;"::"r"(IF_FIXED(1+w) IF_WRONG(1)):"memory"); float v=s[w][127-t%128]; asm volatile("bar.sync %0, 128;"::"r"(IF_FIXED(1+w) IF_WRONG(1)):"memory"); y[t]=v; } }""",
    block=256,
    y=512,
)
pair(
    "consumer_writes_slot_then_tma",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2],e[2];
 if(t==0){ for(int k=0;k<2;++k){bar_init(&f[k],1); bar_init(&e[k],64);} init_fence(); } __syncthreads();
 if(t<32){ if(t==0) for(int i=0;i<4;++i){ int k=i&1; bar_wait(&e[k],((i>>1)&1)^1); bar_expect(&f[k],256); bulk_load(s[k],x+64*i,256,&f[k]); } }
 else for(int i=0;i<4;++i){ int k=i&1; bar_wait(&f[k],(i>>1)&1); s[k][t-32]*=2; named_sync(1,64); y[t-32+64*i]=s[k][95-t]; IF_FIXED(proxy_fence();) bar_arrive(&e[k]); } }""",
    block=96,
)
pair(
    "ldmatrix_after_cp_async",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) unsigned short s[64*8]; copy16(s+8*t,(const char*)x+16*t); copy_commit(); copy_wait0(); IF_FIXED(__syncthreads();)
 u32 r[4]; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(smem(s+8*((t%32)^ 32*0)+ (t<32?256:0))):"memory"); y[t]=__uint_as_float(r[0]^r[1]^r[2]^r[3]); }""",
)
pair(
    "cp_async_missing_empty_tail_commit",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ alignas(128) float s[3][256]; const int n=5;
 for(int i=0;i<2;++i){ copy16(&s[i][4*t],x+4*t+64*i); copy_commit(); }
 for(int i=0;i<n;++i){ asm volatile("cp.async.wait_group 1;":::"memory"); __syncthreads(); if(i+2<n){ copy16(&s[(i+2)%3][4*t],x+4*t+64*(i+2)); IF_WRONG(copy_commit();) } IF_FIXED(copy_commit();) y[t+64*i]=s[i%3][255-t]; } }""",
    x=1024,
    y=512,
)
pair(
    "double_buffer_regs",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; __shared__ float s[2][64]; s[0][t]=x[t]; __syncthreads(); float acc=0;
 for(int i=0;i<4;++i){ float nx=0; if(i<3) nx=x[t+64*(i+1)%256]; for(int j=0;j<64;j+=7) acc+=s[i&1][(j+t)%64]; IF_WRONG(s[i&1][t]=nx;) IF_FIXED(s[(i+1)&1][t]=nx;) __syncthreads(); } y[t]=acc; }""",
)
pair(
    "shfl_after_divergent_return",
    """extern "C" __global__ void kernel(const float* x, float* y){ int t=threadIdx.x; if(IF_FIXED(t>=32) IF_WRONG(t>=50)) return; float v=x[t]; for(int o=16;o;o/=2) v+=__shfl_down_sync(0xffffffffu,v,o); if(t==0) y[0]=v; }""",
)
pair(
    "aggregated_atomics_activemask",
    """extern "C" __global__ void kernel(const int* x, int* y){ int t=threadIdx.x; if(x[t]&1){ unsigned m=__activemask(); int lead=__ffs(m)-1; int base=0; if(t%32==lead) base=IF_FIXED(atomicAdd(y,__popc(m))) IF_WRONG(y[0]; y[0]=base+__popc(m)); base=__shfl_sync(m,base,lead); y[1+base+__popc(m&((1u<<(t%32))-1))]=x[t]; } }""",
    xd="i32",
    yd="i32",
)
pair(
    "noinline_call",
    """__device__ __noinline__ float f(float a,int t){ return t&1?a*2:a+1; }
extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;

 __shared__ float s[64]; s[t]=x[t]; float v=t<20?f(x[t],t):1; IF_FIXED(__syncthreads();) y[t]=f(s[63-t],t)+v; }""",
)
pair(
    "local_array_dyn",
    """extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;

 float a[16]; for(int i=0;i<16;++i) a[i]=x[(t+i)%256]; __shared__ float s[64]; int k=((int)x[t])&15; s[t]=a[k]; a[k]=1; IF_FIXED(__syncthreads();) y[t]=s[63-t]+a[(k+t)&15]; }""",
)
