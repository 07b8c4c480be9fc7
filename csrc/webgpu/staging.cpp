#include "webgpu/staging.hpp"

#include <string_view>

namespace tilewright::webgpu {

void Staging::create(const Api& api, WGPUDevice device, std::uint64_t bytes) {
  release();
  api_ = &api;
  const bool writes = mode_ == WGPUMapMode_Write;
  WGPUBufferDescriptor descriptor{};
  descriptor.label = view(std::string_view(writes ? "upload" : "download"));
  descriptor.usage = writes ? WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc
                            : WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  descriptor.size = bytes;
  descriptor.mappedAtCreation = writes ? 1 : 0;
  buffer_ = api_->DeviceCreateBuffer(device, &descriptor);
  bytes_ = mapped_bytes_ = bytes;
  state_ = writes ? State::mapped : State::unmapped;
}

void Staging::release() {
  if (buffer_ == nullptr) return;
  if (pending()) api_->BufferUnmap(buffer_);  // calls back, which must not come later
  api_->BufferRelease(buffer_);
  buffer_ = nullptr;
  bytes_ = 0;
  data_ = nullptr;
  state_ = State::unmapped;
}

std::byte* Staging::data() {
  if (!mapped()) return nullptr;
  if (data_ == nullptr) {
    data_ = const_cast<std::byte*>(static_cast<const std::byte*>(
        mode_ == WGPUMapMode_Write ? api_->BufferGetMappedRange(buffer_, 0, mapped_bytes_)
                                   : api_->BufferGetConstMappedRange(buffer_, 0, mapped_bytes_)));
  }
  return data_;
}

void Staging::map(std::uint64_t bytes, std::uint64_t submission) {
  submission_ = submission;
  mapped_bytes_ = bytes;
  state_ = State::pending;
  WGPUBufferMapCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = this;
  callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* self, void*) {
    static_cast<Staging*>(self)->state_.store(
        status == WGPUMapAsyncStatus_Success ? State::mapped : State::unmapped,
        std::memory_order_release);
  };
  api_->BufferMapAsync(buffer_, mode_, 0, bytes, callback);
}

void Staging::unmap() {
  data_ = nullptr;
  state_ = State::unmapped;
  api_->BufferUnmap(buffer_);
}

}  // namespace tilewright::webgpu
