#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/host_read.hpp"
#include "gpu/template.hpp"
#include "tilewright/device.hpp"
#include "tilewright/kernel.hpp"
#include "tilewright/profile.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
class Allocation;
}

namespace tilewright::gpu {

class CommandList;

/// Memory of a device. Destroying it is safe while queued work uses it.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::uint64_t bytes) : bytes_(bytes) {}
  virtual ~DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  std::uint64_t bytes() const { return bytes_; }

  /// Whose memory it is now, while it is anybody's.
  Allocation* owner = nullptr;

 private:
  std::uint64_t bytes_;
};

/// A compiled kernel with its layout. Owners share it, with whoever has recorded a launch of it.
class Pipeline : public std::enable_shared_from_this<Pipeline> {
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

/// What a device is opened for: to work, or to try kernels of users on, which compilers must not
/// meet with all that the library itself uses with care.
enum class DeviceUse : std::uint8_t { work, trial };

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
  /// What KernelSource::constants gives.
  std::map<std::string, KernelConstant> constants_by_name;
  std::uint32_t group_size = 0;  ///< work-items of a workgroup where the code leaves that open
};

struct Binding {
  DeviceBuffer* buffer;
  std::uint64_t offset;  ///< a multiple of limits().binding_alignment
  std::uint64_t bytes;   ///< a multiple of 4
  bool operator==(const Binding&) const = default;
};

struct Launch {
  const Pipeline* pipeline;
  std::span<const Binding> bindings;
  std::span<const std::byte> params;
  std::array<std::uint32_t, 3> grid;  ///< workgroups
  bool is_checked = false;            ///< it was launched before, on buffers that lay alike
};

/// What a device makes of commands that are to be queued again and again. Let go of before their
/// buffers and pipelines are.
class PreparedCommands {
 public:
  PreparedCommands() = default;
  virtual ~PreparedCommands() = default;
  PreparedCommands(const PreparedCommands&) = delete;
  PreparedCommands& operator=(const PreparedCommands&) = delete;
};

/// What a binding holds of what a device says that it could, since kernels count its bytes in 32
/// bits.
constexpr std::uint64_t counted_binding_bytes(std::uint64_t device_bytes) {
  constexpr std::uint64_t most = (std::uint64_t{4} << 30) - 4;
  return std::min(device_bytes / 4 * 4, most);
}

/// Processors of an NVIDIA H200, the GPU on which the figures of the rules were measured.
inline constexpr Size measured_units = 132;

/// What fills a GPU of so many processors, of what fills the measured one.
constexpr Size filling(Size on_measured, Size units) {
  return std::max<Size>((on_measured * units + measured_units / 2) / measured_units, 1);
}

/// Products that a device's matrix units take: m x k times k x n.
struct MatrixShape {
  DType in, out;  ///< of the operands; of the product and of what it is added to
  std::uint32_t m, n, k;
  bool operator==(const MatrixShape&) const = default;
};

/// What planning needs to know.
struct DeviceLimits {
  std::uint64_t max_buffer_bytes = 0;
  std::uint64_t max_binding_bytes = 0;  ///< of counted_binding_bytes()
  std::uint64_t memory_bytes = 0;
  std::uint32_t binding_alignment = 256;  ///< a power of two; vec4 of float32 lie on it
  /// A buffer that a launch writes to can be bound in it for nothing else, not even another part.
  bool one_use_of_buffer = false;
  /// Kernels are made of templates with whatever values a plan sets; elsewhere the build has
  /// compiled some of them.
  bool compiles_templates = false;
  /// Kernels can ask how many elements a binding holds, where others get no more than a pointer.
  bool counts_bindings = false;
  /// Dot products of four bytes are instructions, not written out by compilers.
  bool packed_dots = false;
  /// A kernel that the driver's compiler does not take can cost the device, its buffers and all
  /// that is queued: code from outside is tried on another one first.
  bool tries_kernels = false;
  /// Kernels that are not trusted are kept within their buffers.
  bool checks_kernels = true;
  std::uint32_t max_groups = 65535;    ///< workgroups in a dimension
  std::uint32_t max_group_size = 256;  ///< work-items of a workgroup
  std::uint32_t local_memory_bytes = 16384;
  std::uint32_t compute_units = 0;      ///< 0 where the device does not say
  Size planned_units = measured_units;  ///< processors that plans are for
  std::uint32_t block_subgroup = 0;  ///< size of subgroups that read blocks; 0 where there are none
  std::uint32_t product_subgroup = 0;  ///< the same for matrix products; 0 also on a CPU, which is
                                       ///< quicker at what it has copied to workgroup memory
  /// Products of matrices whose rows are no whole vec4 are so slow that it can pay to pack them.
  bool packs_float32 = false, packs_float16 = false;
  /// What a subgroup multiplies at once; empty where there are no matrix units, or no kernel
  /// reaches them.
  std::vector<MatrixShape> matrix_shapes;
  /// Work-items that hold such a matrix together; 0 where kernels cannot count on a number.
  std::uint32_t matrix_lanes = 0;
  /// The same of units that want whole blocks, laid out before (DPAS); 0 where there are none.
  std::uint32_t block_lanes = 0;
  /// Between these a kernel's subgroups have their size; 0 where the device does not say.
  std::uint32_t least_subgroup = 0, most_subgroup = 0;
  bool float16 = false;
  bool int64 = false, float64 = false;  ///< kernels compute with them
  bool stores_bytes = false;  ///< kernels write single bytes; elsewhere whole words of four
  std::uint32_t max_bindings = 8;
  std::uint32_t max_params_bytes = 256;
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
  /// What queues the commands sooner than one by one; null where nothing does.
  virtual std::unique_ptr<PreparedCommands> prepare(const CommandList& commands);
  /// Queues all of them, in their order. `prepared` is what prepare() gave for them.
  virtual void replay(const CommandList& commands, PreparedCommands* prepared);
  /// download() that returns before it is done: gives the place from which on it is. Any offset and
  /// size.
  virtual std::uint64_t start_download(HostRead read, DeviceBuffer& src, std::uint64_t offset) = 0;
  /// Returns when all queued work is done; throws what went wrong in it.
  virtual void wait() = 0;
  /// The place in the queue after all that is queued: places grow.
  virtual std::uint64_t mark() = 0;
  /// Whether the work up to a place is done and its downloads have filled what they read to. Sends
  /// that work out, looks at least once, and until the deadline; throws what went wrong.
  virtual bool reach(std::uint64_t place, std::chrono::steady_clock::time_point deadline) = 0;
  /// Sends out what is queued.
  virtual void flush() = 0;

  /// Times every launch until end_timing(), which waits for them. Throws Unsupported.
  virtual void begin_timing() = 0;
  virtual std::vector<LaunchRecord> end_timing() = 0;
};

}  // namespace tilewright::gpu
