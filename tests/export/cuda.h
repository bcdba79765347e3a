/* What the exported launchers call of the CUDA driver, written down instead of done. */
#pragma once
#include <stddef.h>
#include <stdio.h>
#include <string.h>
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long cuuint64_t;
typedef unsigned int cuuint32_t;
typedef void *CUmodule, *CUfunction, *CUstream;
typedef struct { _Alignas(64) unsigned char bytes[128]; } CUtensorMap;
typedef struct { int id; struct { struct { unsigned x, y, z; } clusterDim; } value; } CUlaunchAttribute;
typedef struct {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;
enum { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE };
enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH };
enum { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
enum { CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
       CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_INT32,
       CU_TENSOR_MAP_DATA_TYPE_UINT8 };
enum { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
       CU_TENSOR_MAP_SWIZZLE_128B };
enum { CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };
static int maps = 0;
static inline CUresult cuModuleLoadData(CUmodule *m, const void *data) { *m = (void *)data; return 0; }
static inline CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  *f = m; printf("entry %s\n", name); return 0;
}
static inline CUresult cuFuncSetAttribute(CUfunction f, int what, int n) { (void)f; (void)what; printf("shared %d\n", n); return 0; }
static inline CUresult cuFuncGetAttribute(int *n, int what, CUfunction f) { (void)f; (void)what; *n = 0; return 0; }
static inline CUresult cuCtxGetDevice(CUdevice *d) { *d = 0; return 0; }
static inline CUresult cuDeviceGetAttribute(int *n, int what, CUdevice d) { (void)what; (void)d; *n = 132; return 0; }
static inline CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads, size_t bytes) {
  (void)f; (void)threads; (void)bytes; *n = 3; return 0;
}
static inline CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *c) {
  (void)f; *n = 132 / (int)c->gridDimX; return 0;
}
static inline CUresult cuTensorMapEncodeTiled(CUtensorMap *m, int element, unsigned rank, void *at,
    const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *ones,
    int interleave, int swizzle, int promotion, int fill) {
  (void)interleave; (void)promotion; (void)fill;
  memset(m->bytes, 0, sizeof m->bytes);
  memcpy(m->bytes, &maps, sizeof maps);
  printf("map %d %d %llu |", element, swizzle, (unsigned long long)at);
  for (unsigned i = 0; i < rank; ++i) printf(" %llu", shape[i]);
  printf(" |");
  for (unsigned i = 0; i + 1 < rank; ++i) printf(" %llu", strides[i]);
  printf(" |");
  for (unsigned i = 0; i < rank; ++i) printf(" %u", box[i] * ones[i]);
  printf("\n");
  ++maps;
  return 0;
}
static inline CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **parameters, void **extra) {
  (void)f; (void)extra;
  printf("launch %u %u %u %u\n", c->gridDimX, c->blockDimX, c->sharedMemBytes,
         c->numAttrs ? c->attrs->value.clusterDim.x : 1);
  for (int i = 0; i < PARAMETERS; ++i) {
    unsigned long long word;
    memcpy(&word, parameters[i], 8);
    printf("parameter %llu\n", word);
  }
  return 0;
}
