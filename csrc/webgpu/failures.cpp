#include "webgpu/failures.hpp"

#include <exception>
#include <utility>

#include "core/thread_memory.hpp"

namespace tilewright::webgpu {

namespace {

// How wgpu-native words what has no error type of its own.
constexpr std::string_view lost_words = "device is lost";
constexpr std::string_view full_words = "Not enough memory left";

TILEWRIGHT_MADE_WITH_THREAD constinit thread_local Failures::OfThisThread* of_this_thread = nullptr;

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

Failures::OfThisThread::OfThisThread(const Failures& failures) noexcept : failures_(failures) {
  of_this_thread = this;
}

Failures::OfThisThread::~OfThisThread() { of_this_thread = nullptr; }

Failures::OfThisThread* Failures::own() const noexcept {
  return of_this_thread != nullptr && &of_this_thread->failures_ == this ? of_this_thread : nullptr;
}

std::optional<Failures::Failure> Failures::take() {
  if (OfThisThread* mine = own()) return std::exchange(mine->failure_, std::nullopt);
  if (!failed_.load(std::memory_order_relaxed)) return std::nullopt;
  std::lock_guard lock(mutex_);
  failed_ = false;
  return std::exchange(failure_, std::nullopt);
}

// Called back on the thread whose call fails, so no exception may leave it.
void Failures::add(WGPUErrorType type, std::string_view message) noexcept {
  if (has(message, lost_words)) lost_ = true;
  const auto keep = [&](std::optional<Failure>& kept) {
    if (kept) return;
    kept.emplace(std::string(), type == WGPUErrorType_OutOfMemory || has(message, full_words));
    try {
      kept->message = message;
    } catch (const std::exception&) {
      // No memory for the words.
    }
  };
  if (OfThisThread* mine = own()) return keep(mine->failure_);
  std::lock_guard lock(mutex_);
  failed_ = true;
  keep(failure_);
}

}  // namespace tilewright::webgpu
