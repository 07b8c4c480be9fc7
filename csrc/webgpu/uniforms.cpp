#include "webgpu/uniforms.hpp"

#include <cstring>
#include <string_view>

namespace tilewright::webgpu {

Uniforms::Uniforms(const Api& api, WGPUDevice device, std::uint32_t slots)
    : api_(api), bytes_(std::size_t{slots} * slot_bytes) {
  WGPUBufferDescriptor buffer{};
  buffer.label = view(std::string_view("parameters"));
  buffer.usage = WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst;
  buffer.size = bytes_.size();
  buffer_ = api_.DeviceCreateBuffer(device, &buffer);
  WGPUBindGroupLayoutEntry place{};
  place.visibility = WGPUShaderStage_Compute;
  place.buffer.type = WGPUBufferBindingType_Uniform;
  place.buffer.hasDynamicOffset = 1;
  WGPUBindGroupLayoutDescriptor layout{};
  layout.entryCount = 1;
  layout.entries = &place;
  layout_ = api_.DeviceCreateBindGroupLayout(device, &layout);
  WGPUBindGroupEntry entry{};
  entry.buffer = buffer_;
  entry.size = slot_bytes;
  WGPUBindGroupDescriptor group{};
  group.layout = layout_;
  group.entryCount = 1;
  group.entries = &entry;
  group_ = api_.DeviceCreateBindGroup(device, &group);
}

Uniforms::~Uniforms() {
  api_.BindGroupRelease(group_);
  api_.BindGroupLayoutRelease(layout_);
  api_.BufferRelease(buffer_);
}

std::string Uniforms::in_uniforms(std::string text) {
  constexpr std::string_view from = "var<immediate>";
  constexpr std::string_view to = "@group(1) @binding(0) var<uniform>";
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::uint32_t Uniforms::add(std::span<const std::byte> params) {
  const std::uint32_t offset = taken_++ * slot_bytes;
  std::memcpy(bytes_.data() + offset, params.data(), params.size());
  return offset;
}

void Uniforms::write(WGPUQueue queue) {
  if (taken_ == 0) return;
  api_.QueueWriteBuffer(queue, buffer_, 0, bytes_.data(), std::size_t{taken_} * slot_bytes);
  taken_ = 0;
}

}  // namespace tilewright::webgpu
