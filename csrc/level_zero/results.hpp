#pragma once

#include <string>
#include <string_view>

#include "level_zero/api.hpp"

namespace tilewright::level_zero {

/// "ZE_RESULT_ERROR_DEVICE_LOST"; the number for a value that is not known here.
std::string name_of(ze_result_t result);

/// Whether the device cannot be used any more.
inline bool is_loss(ze_result_t result) {
  return result == ZE_RESULT_ERROR_DEVICE_LOST || result == ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET;
}
inline bool is_full(ze_result_t result) {
  return result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/// "level-zero: zeMemFree gave ZE_RESULT_...: what that means and what to do", with what the
/// driver itself says of its last error.
std::string failure_text(std::string_view call, ze_result_t result,
                         ze_driver_handle_t driver = nullptr);

/// Throws what the trait calls this failure: DeviceLost, OutOfMemory, Unsupported or DeviceError.
[[noreturn]] void fail(std::string_view call, ze_result_t result,
                       ze_driver_handle_t driver = nullptr);

inline void check(ze_result_t result, std::string_view call, ze_driver_handle_t driver = nullptr) {
  if (result != ZE_RESULT_SUCCESS) fail(call, result, driver);
}

}  // namespace tilewright::level_zero
