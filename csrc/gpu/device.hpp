#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/template.hpp"
#include "tilewright/device.hpp"
#include "tilewright/kernel.hpp"
#include "tilewright/profile.hpp"

namespace tilewright::gpu {

/// Memory of a device. Destroying it is safe while queued work uses it.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::uint64_t bytes) : bytes_(bytes) {}
  virtual ~DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_;
};

/// A compiled kernel with its layout.
class Pipeline {
 public:
  explicit Pipeline(KernelInfo info) : info_(std::move(info)) {}
  virtual ~Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  /// What its code declares.
  const KernelInfo& info() const { return info_; }

 private:
  KernelInfo info_;
};

/// What a device's compiler takes.
enum class KernelLanguage : std::uint8_t { wgsl, spirv };

struct SpecializationConstant {
  std::uint32_t id;
  std::uint32_t value;
};

struct KernelDescription {
  std::string name;   ///< for messages and profiles
  ExpandedText code;  ///< text, or the words of SPIR-V
  std::string entry;
  bool trusted = false;  ///< leave out the checks that protect from the kernel's own mistakes
  std::vector<SpecializationConstant> constants;  ///< of SPIR-V
  std::uint32_t group_size = 0;  ///< work-items of a workgroup where the code leaves that open
};

struct Binding {
  DeviceBuffer* buffer;
  std::uint64_t offset;  ///< a multiple of limits().binding_alignment
  std::uint64_t bytes;   ///< a multiple of 4
};

struct Launch {
  const Pipeline* pipeline;
  std::span<const Binding> bindings;
  std::span<const std::byte> params;
  std::array<std::uint32_t, 3> grid;  ///< workgroups
};

/// What a binding holds of what a device says that it could, since kernels count its bytes in 32
/// bits.
constexpr std::uint64_t counted_binding_bytes(std::uint64_t device_bytes) {
  constexpr std::uint64_t most = (std::uint64_t{4} << 30) - 4;
  return std::min(device_bytes / 4 * 4, most);
}

/// What planning needs to know.
struct DeviceLimits {
  std::uint64_t max_buffer_bytes = 0;
  std::uint64_t max_binding_bytes = 0;  ///< of counted_binding_bytes()
  std::uint64_t memory_bytes = 0;
  std::uint32_t binding_alignment = 256;
  std::uint32_t max_groups = 65535;    ///< workgroups in a dimension
  std::uint32_t max_group_size = 256;  ///< work-items of a workgroup
  std::uint32_t local_memory_bytes = 16384;
  std::uint32_t compute_units = 0;   ///< 0 where the device does not say
  std::uint32_t block_subgroup = 0;  ///< size of subgroups that read blocks; 0 where there are none
  std::uint32_t product_subgroup = 0;  ///< the same for matrix products; 0 also on a CPU, which is
                                       ///< quicker at what it has copied to workgroup memory
  /// Products of matrices whose rows are no whole vec4 are so slow that it can pay to pack them.
  bool packs_float32 = false, packs_float16 = false;
  bool float16 = false;
};

/// One GPU through one API: buffers, pipelines, launches, copies. Knows no op. Work is queued in
/// the order of the calls and seen in that order. Every method may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceInfo info() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  virtual KernelLanguage language() const = 0;
  /// Work-items that share subgroup operations in a small kernel; 0 where there are none. The first
  /// call may compile and run one.
  virtual std::uint32_t subgroup_size() = 0;

  /// Throws OutOfMemory. `bytes` is a multiple of 4; contents undefined.
  virtual std::unique_ptr<DeviceBuffer> create_buffer(std::uint64_t bytes) = 0;
  /// Reads from the code what a launch takes. Throws KernelError with the compiler's log.
  virtual std::unique_ptr<Pipeline> create_pipeline(const KernelDescription& kernel) = 0;

  virtual void launch(const Launch& launch) = 0;
  /// Offsets and sizes of the copies are multiples of 4.
  virtual void upload(DeviceBuffer& dst, std::uint64_t offset, std::span<const std::byte> src) = 0;
  virtual void download(std::span<std::byte> dst, DeviceBuffer& src, std::uint64_t offset) = 0;
  virtual void copy(DeviceBuffer& dst, std::uint64_t dst_offset, DeviceBuffer& src,
                    std::uint64_t src_offset, std::uint64_t bytes) = 0;
  /// Returns when all queued work is done; throws what went wrong in it.
  virtual void wait() = 0;

  /// Times every launch until end_timing(), which waits for them. Throws Unsupported.
  virtual void begin_timing() = 0;
  virtual std::vector<LaunchRecord> end_timing() = 0;
};

}  // namespace tilewright::gpu
