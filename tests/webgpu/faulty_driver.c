/* A Vulkan driver that fails on command: it passes every call on to the real driver, whose library
 * FAULTY_DRIVER_REAL names, unless one of the switches is set. It needs no Vulkan headers: it
 * declares the few calls that it stands in for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef function (*get_function)(void *owner, const char *name);

enum { SUCCESS = 0, NOT_READY = 1, OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4 };

/* The switches, for tests to set. */
volatile int device_is_lost;
volatile int device_is_lost_in_a_wait;
volatile int work_hangs; /* what is submitted never ends */
volatile int memory_is_full;

/* What it counts. */
volatile int pipelines_made;

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

CALL(vkAllocateMemory, (void *device, const void *info, const void *allocator, uint64_t *memory),
     (device, info, allocator, memory), memory_is_full, OUT_OF_DEVICE_MEMORY)
CALL(vkCreateComputePipelines,
     (void *device, uint64_t cache, uint32_t count, const void *infos, const void *allocator,
      uint64_t *pipelines),
     (device, cache, count, infos, allocator, pipelines), (pipelines_made += (int)count, 0),
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
