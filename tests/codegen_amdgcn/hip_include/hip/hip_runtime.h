// The part of the HIP runtime's interface that launchers use.
#pragma once
#include <cstddef>

typedef int hipError_t;
typedef void *hipModule_t;
typedef void *hipFunction_t;
typedef void *hipStream_t;
enum { hipSuccess = 0 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)
#define HIP_LAUNCH_PARAM_END ((void *)0x03)

extern "C" {
const char *hipGetErrorString(hipError_t code);
hipError_t hipInit(unsigned flags);
hipError_t hipGetDeviceCount(int *count);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int *device);
hipError_t hipModuleLoadData(hipModule_t *module, const void *image);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                 hipStream_t stream, void **params, void **extra);
hipError_t hipMalloc(void **place, size_t size);
hipError_t hipFree(void *place);
hipError_t hipMemcpy(void *to, const void *from, size_t size, int kind);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipDeviceSynchronize(void);
hipError_t hipEventCreate(void **event);
hipError_t hipEventDestroy(void *event);
hipError_t hipEventRecord(void *event, hipStream_t stream);
hipError_t hipEventSynchronize(void *event);
hipError_t hipEventElapsedTime(float *ms, void *start, void *end);
}
