#include "level_zero/results.hpp"

#include <array>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::level_zero {

namespace {

struct Meaning {
  ze_result_t result;
  std::string_view name;
  std::string_view words;  ///< what it means, and what to do
};

constexpr std::string_view own_fault =
    "a call that this library should not make; please report it with this message";
constexpr std::string_view old_driver =
    "the driver is too old or does not have this; install the current one";

#define TILEWRIGHT_RESULT(name, words) \
  Meaning { name, #name, words }
constexpr std::array meanings{
    TILEWRIGHT_RESULT(ZE_RESULT_NOT_READY, "the work is not done yet"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_DEVICE_LOST,
                      "the driver gave the device up, as after a kernel without end or a reset; "
                      "close() and init() again"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET,
                      "the device must be reset before it can be used; close(), reset it or start "
                      "the machine anew, and init() again"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE,
                      "the device sleeps; wake it, or let the system's power settings keep it "
                      "awake"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                      "the machine's memory is full; free some of it"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                      "the device is full; free some buffers"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
                      "the driver's compiler refused the kernel"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_MODULE_LINK_FAILURE,
                      "the driver's compiler found a function missing in the kernel"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
                      "this user may not use the device; add the user to the group of "
                      "/dev/dri/renderD* and log in again"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_NOT_AVAILABLE,
                      "another process holds the device; end it or wait for it"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
                      "the driver lacks a library that it needs; install the whole driver, with "
                      "its compiler"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNINITIALIZED,
                      "the loader found no driver that works, or the driver no device"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_VERSION, old_driver),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, old_driver),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                      "larger than the device can hold in one piece; split it"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, old_driver),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_ARGUMENT, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_SIZE, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_ENUMERATION, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
                      "a compiled kernel of another device or driver"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
                      "the driver's compiler left the kernel out"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
                      "the kernel's workgroup is larger than the device takes"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
                      "more workgroups than the device takes"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
                      "the kernel calls functions that no module of it has"),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, own_fault),
    TILEWRIGHT_RESULT(ZE_RESULT_ERROR_UNKNOWN, "the driver does not say why"),
};
#undef TILEWRIGHT_RESULT

const Meaning* meaning_of(ze_result_t result) {
  for (const Meaning& meaning : meanings) {
    if (meaning.result == result) return &meaning;
  }
  return nullptr;
}

/// What the driver says of the last error of this thread; empty where it says nothing.
std::string last_words(ze_driver_handle_t driver) {
  if (driver == nullptr || api().DriverGetLastErrorDescription == nullptr) return {};
  const char* words = nullptr;
  if (api().DriverGetLastErrorDescription(driver, &words) != ZE_RESULT_SUCCESS) return {};
  return words == nullptr ? std::string() : std::string(words);
}

}  // namespace

std::string name_of(ze_result_t result) {
  if (const Meaning* meaning = meaning_of(result)) return std::string(meaning->name);
  return text("result 0x", std::hex, static_cast<std::uint32_t>(result));
}

std::string failure_text(std::string_view call, ze_result_t result, ze_driver_handle_t driver) {
  const Meaning* meaning = meaning_of(result);
  const std::string words = last_words(driver);
  return text("level-zero: ", call, " gave ", name_of(result), ": ",
              meaning != nullptr ? meaning->words : "a failure that is not known here",
              words.empty() ? "" : text(" (the driver: ", words, ")"));
}

void fail(std::string_view call, ze_result_t result, ze_driver_handle_t driver) {
  const std::string message = failure_text(call, result, driver);
  if (is_loss(result)) throw DeviceLost(message);
  if (is_full(result)) throw OutOfMemory(message, 0);
  throw DeviceError(message);
}

}  // namespace tilewright::level_zero
