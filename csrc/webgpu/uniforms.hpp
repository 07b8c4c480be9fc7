#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "webgpu/api.hpp"

namespace tilewright::webgpu {

/// Parameters of launches where immediates cannot hold them: a uniform buffer with one slot for
/// each launch of a submission, bound as group 1 and written when they go out. Not synchronised:
/// the device holds its lock.
class Uniforms {
 public:
  static constexpr std::uint32_t slot_bytes = 256;
  static constexpr std::uint32_t usual_slots = 256;

  /// With room for so many launches.
  Uniforms(const Api& api, WGPUDevice device, std::uint32_t slots = usual_slots);
  ~Uniforms();
  Uniforms(const Uniforms&) = delete;
  Uniforms& operator=(const Uniforms&) = delete;

  /// A kernel's text with `var<immediate>` declared as this binding.
  static std::string in_uniforms(std::string text);

  WGPUBindGroupLayout layout() const { return layout_; }
  WGPUBindGroup group() const { return group_; }
  bool full() const { return std::size_t{taken_} * slot_bytes == bytes_.size(); }
  /// Keeps a launch's parameters; the offset to bind them at.
  std::uint32_t add(std::span<const std::byte> params);
  /// Writes what was added ahead of the next submission.
  void write(WGPUQueue queue);
  void forget() { taken_ = 0; }

 private:
  const Api& api_;
  WGPUBuffer buffer_ = nullptr;
  WGPUBindGroupLayout layout_ = nullptr;
  WGPUBindGroup group_ = nullptr;
  std::vector<std::byte> bytes_;
  std::uint32_t taken_ = 0;
};

}  // namespace tilewright::webgpu
