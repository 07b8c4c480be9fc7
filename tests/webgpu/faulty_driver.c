/* A Vulkan driver that fails on command: it passes every call on to the real driver, whose library
 * FAULTY_DRIVER_REAL names, unless one of the switches is set. It needs no Vulkan headers: it
 * declares the few calls that it stands in for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*function)(void);
typedef function (*get_function)(void *owner, const char *name);

enum { SUCCESS = 0, NOT_READY = 1, OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4 };

/* The switches, for tests to set. */
volatile int device_is_lost;
volatile int device_is_lost_in_a_wait;
volatile int work_hangs; /* what is submitted never ends */
volatile int pipelines_wait; /* who makes one waits as long as it is set */
volatile int memory_is_full;
volatile int memory_megabytes; /* what all allocations may hold together; 0: as the driver says */

/* A kernel with one of these constants in its code does this as it is compiled. */
enum { CRASHES = 0x4fa11ed1, NEVER_ENDS = 0x4fa11ed2 };

/* What it counts. */
volatile int pipelines_made;
volatile int pipelines_waiting;
volatile int allocated_megabytes;
volatile int pipeline_layouts;

static get_function real_instance_function, real_device_function;

static void *real_driver(void) {
  static void *library;
  if (library == NULL) library = dlopen(getenv("FAULTY_DRIVER_REAL"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "faulty driver: %s\n", dlerror());
    exit(1);
  }
  return library;
}

/* A thread that looks this often and submits nothing waits: the library looks at most a few times
 * around a submission. */
enum { LOOKS_OF_A_WAIT = 8 };
static _Thread_local int looks;

static void look(void) {
  looks = device_is_lost_in_a_wait ? looks + 1 : 0;
  if (looks >= LOOKS_OF_A_WAIT) device_is_lost = 1;
}

/* A call of the driver, with what it fails with and when. */
#define CALL(name, parameters, arguments, fails, failure) \
  static int(*real_##name) parameters;                    \
  static int faulty_##name parameters {                   \
    if (fails) return failure;                            \
    return real_##name arguments;                         \
  }

/* Allocations by their handles, of which tests hold few. */
enum { MOST_ALLOCATIONS = 4096 };
static struct {
  uint64_t memory, bytes;
} allocations[MOST_ALLOCATIONS];
static uint64_t allocated;

static void change_allocated(int64_t bytes) {
  allocated += (uint64_t)bytes;
  allocated_megabytes = (int)(allocated >> 20);
}
static pthread_mutex_t allocations_mutex = PTHREAD_MUTEX_INITIALIZER;

static int room_for(uint64_t bytes) {
  return memory_megabytes == 0 || allocated + bytes <= (uint64_t)memory_megabytes << 20;
}

static void count_allocation(uint64_t memory, uint64_t bytes) {
  for (int i = 0; i < MOST_ALLOCATIONS; ++i) {
    if (allocations[i].memory != 0) continue;
    allocations[i].memory = memory;
    allocations[i].bytes = bytes;
    change_allocated((int64_t)bytes);
    return;
  }
}

static void forget_allocation(uint64_t memory) {
  for (int i = 0; i < MOST_ALLOCATIONS; ++i) {
    if (allocations[i].memory != memory) continue;
    allocations[i].memory = 0;
    change_allocated(-(int64_t)allocations[i].bytes);
    return;
  }
}

struct allocate_info {
  uint32_t type;
  const void *next;
  uint64_t bytes;
};

static int (*real_vkAllocateMemory)(void *, const struct allocate_info *, const void *, uint64_t *);
static int faulty_vkAllocateMemory(void *device, const struct allocate_info *info,
                                   const void *allocator, uint64_t *memory) {
  pthread_mutex_lock(&allocations_mutex);
  int result = OUT_OF_DEVICE_MEMORY;
  if (!memory_is_full && room_for(info->bytes)) {
    result = real_vkAllocateMemory(device, info, allocator, memory);
    if (result == SUCCESS) count_allocation(*memory, info->bytes);
  }
  pthread_mutex_unlock(&allocations_mutex);
  return result;
}

static void (*real_vkFreeMemory)(void *, uint64_t, const void *);
static void faulty_vkFreeMemory(void *device, uint64_t memory, const void *allocator) {
  pthread_mutex_lock(&allocations_mutex);
  real_vkFreeMemory(device, memory, allocator);
  if (memory != 0) forget_allocation(memory);
  pthread_mutex_unlock(&allocations_mutex);
}

struct module_info {
  uint32_t type;
  const void *next;
  uint32_t flags;
  size_t bytes;
  const uint32_t *words;
};

static int (*real_vkCreateShaderModule)(void *, const struct module_info *, const void *,
                                        uint64_t *);
static int faulty_vkCreateShaderModule(void *device, const struct module_info *info,
                                       const void *allocator, uint64_t *module) {
  for (size_t i = 0; i < info->bytes / sizeof(uint32_t); ++i) {
    if (info->words[i] == CRASHES) abort();
    while (info->words[i] == NEVER_ENDS) pause();
  }
  return real_vkCreateShaderModule(device, info, allocator, module);
}

CALL(vkCreatePipelineLayout,
     (void *device, const void *info, const void *allocator, uint64_t *layout),
     (device, info, allocator, layout), (__atomic_add_fetch(&pipeline_layouts, 1, __ATOMIC_SEQ_CST), 0),
     OUT_OF_DEVICE_MEMORY)

static void (*real_vkDestroyPipelineLayout)(void *, uint64_t, const void *);
static void faulty_vkDestroyPipelineLayout(void *device, uint64_t layout, const void *allocator) {
  real_vkDestroyPipelineLayout(device, layout, allocator);
  __atomic_sub_fetch(&pipeline_layouts, 1, __ATOMIC_SEQ_CST);
}

static void wait_to_make_pipelines(void) {
  if (!pipelines_wait) return;
  __atomic_add_fetch(&pipelines_waiting, 1, __ATOMIC_SEQ_CST);
  while (pipelines_wait) usleep(1000);
  __atomic_sub_fetch(&pipelines_waiting, 1, __ATOMIC_SEQ_CST);
}

CALL(vkCreateComputePipelines,
     (void *device, uint64_t cache, uint32_t count, const void *infos, const void *allocator,
      uint64_t *pipelines),
     (device, cache, count, infos, allocator, pipelines), (pipelines_made += (int)count, wait_to_make_pipelines(), 0),
     OUT_OF_DEVICE_MEMORY)
CALL(vkQueueSubmit, (void *queue, uint32_t count, const void *submits, uint64_t fence),
     (queue, count, submits, fence), (looks = 0, device_is_lost), DEVICE_LOST)
CALL(vkGetSemaphoreCounterValue, (void *device, uint64_t semaphore, uint64_t *value),
     (device, semaphore, value), (look(), device_is_lost || work_hangs),
     device_is_lost ? DEVICE_LOST : (*value = 0, SUCCESS))
CALL(vkWaitSemaphores, (void *device, const void *info, uint64_t timeout), (device, info, timeout),
     device_is_lost, DEVICE_LOST)
CALL(vkGetFenceStatus, (void *device, uint64_t fence), (device, fence),
     (look(), device_is_lost || work_hangs), device_is_lost ? DEVICE_LOST : NOT_READY)
CALL(vkWaitForFences,
     (void *device, uint32_t count, const uint64_t *fences, uint32_t all, uint64_t timeout),
     (device, count, fences, all, timeout), device_is_lost, DEVICE_LOST)
CALL(vkQueueWaitIdle, (void *queue), (queue), device_is_lost, DEVICE_LOST)
CALL(vkDeviceWaitIdle, (void *device), (device), device_is_lost, DEVICE_LOST)

static function stand_in(const char *name, function real) {
  if (real == NULL) return NULL;
#define STAND_IN(call, called)           \
  if (strcmp(name, called) == 0) {       \
    real_##call = (void *)real;          \
    return (function)(void *)faulty_##call; \
  }
  STAND_IN(vkAllocateMemory, "vkAllocateMemory")
  STAND_IN(vkFreeMemory, "vkFreeMemory")
  STAND_IN(vkCreateShaderModule, "vkCreateShaderModule")
  STAND_IN(vkCreatePipelineLayout, "vkCreatePipelineLayout")
  STAND_IN(vkDestroyPipelineLayout, "vkDestroyPipelineLayout")
  STAND_IN(vkCreateComputePipelines, "vkCreateComputePipelines")
  STAND_IN(vkQueueSubmit, "vkQueueSubmit")
  STAND_IN(vkGetSemaphoreCounterValue, "vkGetSemaphoreCounterValue")
  STAND_IN(vkGetSemaphoreCounterValue, "vkGetSemaphoreCounterValueKHR")
  STAND_IN(vkWaitSemaphores, "vkWaitSemaphores")
  STAND_IN(vkWaitSemaphores, "vkWaitSemaphoresKHR")
  STAND_IN(vkGetFenceStatus, "vkGetFenceStatus")
  STAND_IN(vkWaitForFences, "vkWaitForFences")
  STAND_IN(vkQueueWaitIdle, "vkQueueWaitIdle")
  STAND_IN(vkDeviceWaitIdle, "vkDeviceWaitIdle")
  return real;
}

static function device_function(void *device, const char *name) {
  return stand_in(name, real_device_function(device, name));
}

/* What the Vulkan loader asks a driver for. */

function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
  real_instance_function = (get_function)dlsym(real_driver(), "vk_icdGetInstanceProcAddr");
  const function real = real_instance_function(instance, name);
  if (real != NULL && strcmp(name, "vkGetDeviceProcAddr") == 0) {
    real_device_function = (get_function)(void *)real;
    return (function)(void *)device_function;
  }
  return stand_in(name, real);
}

function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
  const get_function real =
      (get_function)dlsym(real_driver(), "vk_icdGetPhysicalDeviceProcAddr");
  return real != NULL ? real(instance, name) : NULL;
}

int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  int (*real)(uint32_t *) = dlsym(real_driver(), "vk_icdNegotiateLoaderICDInterfaceVersion");
  return real(version);
}
