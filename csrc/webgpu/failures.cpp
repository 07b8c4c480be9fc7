#include "webgpu/failures.hpp"

#include <exception>
#include <utility>

namespace tilewright::webgpu {

namespace {

// How wgpu-native words what has no error type of its own.
constexpr std::string_view lost_words = "device is lost";
constexpr std::string_view full_words = "Not enough memory left";

bool has(std::string_view message, std::string_view words) {
  return message.find(words) != std::string_view::npos;
}

}  // namespace

void Failures::connect(WGPUDeviceDescriptor& descriptor) {
  auto& lost = descriptor.deviceLostCallbackInfo;
  lost.mode = WGPUCallbackMode_AllowSpontaneous;
  lost.userdata1 = this;
  lost.callback = [](WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView, void* self, void*) {
    static_cast<Failures*>(self)->lost_ = true;
  };
  auto& error = descriptor.uncapturedErrorCallbackInfo;
  error.userdata1 = this;
  error.callback = [](WGPUDevice const*, WGPUErrorType type, WGPUStringView message, void* self,
                      void*) { static_cast<Failures*>(self)->add(type, view(message)); };
}

std::optional<Failures::Failure> Failures::take() {
  if (!failed_.load(std::memory_order_relaxed)) return std::nullopt;
  std::lock_guard lock(mutex_);
  failed_ = false;
  return std::exchange(failure_, std::nullopt);
}

// Called back, so no exception may leave it.
void Failures::add(WGPUErrorType type, std::string_view message) noexcept {
  if (has(message, lost_words)) lost_ = true;
  std::lock_guard lock(mutex_);
  failed_ = true;
  if (failure_) return;
  failure_.emplace(std::string(), type == WGPUErrorType_OutOfMemory || has(message, full_words));
  try {
    failure_->message = message;
  } catch (const std::exception&) {
    // No memory for the words.
  }
}

}  // namespace tilewright::webgpu
