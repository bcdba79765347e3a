// A library with the symbols of libamdhip64: memory is the host's, launches are handed to callbacks.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <cstring>
#include <map>

typedef int (*load_t)(const void *image);
typedef int (*launch_t)(int module, const char *name, unsigned grid, unsigned block,
                        const void *arguments, size_t size);
typedef void (*memory_t)(void *place, size_t size);

static load_t load_callback;
static launch_t launch_callback;
static memory_t memory_callback;
static int current;
static long ticks;
static std::map<void *, size_t> held;

struct Function {
  int module;
  char name[256];
};

extern "C" {
void standin_callbacks(load_t load, launch_t launch, memory_t memory) {
  load_callback = load;
  launch_callback = launch;
  memory_callback = memory;
}
long standin_live() { return (long)held.size(); }

const char *hipGetErrorString(hipError_t code) {
  return code == 209 ? "no kernel image is available" : code == 1 ? "invalid argument" : "unknown";
}
hipError_t hipInit(unsigned) { return 0; }
hipError_t hipGetDeviceCount(int *count) { return *count = 2, 0; }
hipError_t hipDeviceGetName(char *name, int size, int device) {
  if (device < 0 || device > 1) return 101;
  std::strncpy(name, "stand-in for AMD Instinct MI355X", size);
  return 0;
}
hipError_t hipSetDevice(int device) { return device < 0 || device > 1 ? 101 : (current = device, 0); }
hipError_t hipGetDevice(int *device) { return *device = current, 0; }
hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  int number = load_callback(image);
  if (number <= 0) return 209;
  *module = (void *)(size_t)number;
  return 0;
}
hipError_t hipModuleUnload(hipModule_t) { return 0; }
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  if (std::strlen(name) > 255) return 1;
  Function *made = new Function();
  made->module = (int)(size_t)module;
  std::strcpy(made->name, name);
  *function = made;
  return 0;
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                 hipStream_t, void **params, void **extra) {
  if (params || !extra || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || !gx) return 1;
  if (extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE ||
      extra[4] != HIP_LAUNCH_PARAM_END)
    return 1;
  Function *own = (Function *)function;
  return launch_callback(own->module, own->name, gx, bx, extra[1], *(size_t *)extra[3]);
}
hipError_t hipMalloc(void **place, size_t size) {
  *place = std::malloc(size);
  std::memset(*place, 0xFF, size);
  held[*place] = size;
  memory_callback(*place, size);
  return 0;
}
hipError_t hipFree(void *place) {
  if (!held.count(place)) return 1;
  memory_callback(place, 0);
  held.erase(place);
  std::free(place);
  return 0;
}
hipError_t hipMemcpy(void *to, const void *from, size_t size, int) {
  return std::memcpy(to, from, size), 0;
}
hipError_t hipStreamSynchronize(hipStream_t) { return 0; }
hipError_t hipDeviceSynchronize(void) { return 0; }
hipError_t hipEventCreate(void **event) { return *event = new long(0), 0; }
hipError_t hipEventDestroy(void *event) { return delete (long *)event, 0; }
hipError_t hipEventRecord(void *event, hipStream_t) { return *(long *)event = ++ticks, 0; }
hipError_t hipEventSynchronize(void *) { return 0; }
hipError_t hipEventElapsedTime(float *ms, void *start, void *end) {
  return *ms = (float)(*(long *)end - *(long *)start), 0;
}
}
