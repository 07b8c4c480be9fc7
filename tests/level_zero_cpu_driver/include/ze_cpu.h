/* What a test can ask the driver besides Level Zero's own calls. The driver is found with dlopen of
 * the path in ZE_ENABLE_ALT_DRIVERS, which gives the copy that the loader has opened. */
#ifndef ZE_CPU_H
#define ZE_CPU_H

#include <level_zero/ze_api.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define ZE_CPU_EXPORT __attribute__((visibility("default")))

/* Level Zero calls that have reached the driver. */
ZE_CPU_EXPORT uint64_t zeCpuCallCount(void);

/* The call that shall fail with this result: "17" is the 17th from now, "zeMemAllocDevice:3" the
 * third of that name, "0" or null none. One call fails, once. A call that ends an object's life
 * does its work and fails all the same, and DEVICE_LOST loses the devices. */
ZE_CPU_EXPORT void zeCpuFailCall(const char* what, ze_result_t result);

/* The functions below write at most size bytes with the final zero, and return the length without
 * it. */

/* The name of the call that was made to fail; empty if none was. */
ZE_CPU_EXPORT size_t zeCpuFailedCall(char* name, size_t size);

/* One line "kind count" for each kind of object that is alive: context, command_queue,
 * command_list, fence, event_pool, event, module, build_log, kernel, memory. */
ZE_CPU_EXPORT size_t zeCpuLiveObjects(char* lines, size_t size);

/* Why the last refused call of this thread was refused. */
ZE_CPU_EXPORT size_t zeCpuLastError(char* message, size_t size);

/* All devices are lost from now on. */
ZE_CPU_EXPORT void zeCpuLoseDevices(void);

#if defined(__cplusplus)
}
#endif

#endif
