#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {

enum class DeviceKind : std::uint8_t { discrete, integrated, software, cpu };

template <>
struct EnumNames<DeviceKind> {
  static constexpr std::string_view kind = "device kind";
  static constexpr std::array<std::string_view, 4> values{"discrete", "integrated", "software",
                                                          "cpu"};
};

/// One device as one backend sees it. The same GPU may be listed by two backends.
struct DeviceInfo {
  std::string id;       ///< backend and index, "webgpu:0"
  std::string backend;  ///< "webgpu", "level-zero" or "cpu"
  std::string name;     ///< what the device calls itself
  DeviceKind kind = DeviceKind::cpu;
  std::string driver;              ///< driver or library, with its version
  std::uint64_t memory_bytes = 0;  ///< 0 where the device does not say
  /// What the device says of itself; a limit that it does not have is absent.
  std::map<std::string, std::uint64_t> limits;
  std::vector<std::string> features;
  /// What the matrix units multiply at once, m x n x k: "float16 to float32, 16x16x16".
  std::vector<std::string> matrix_shapes;
  std::string implementation;      ///< of webgpu: "wgpu" or "dawn"
  std::string implementation_why;  ///< and why it is that one
  bool available = false;
  std::string reason;  ///< why it is not available, and what to do; empty where it is
};

/// What a backend can do. Read from the device, never constants.
struct Capabilities {
  std::vector<DType> dtypes;          ///< storage types of the floating-point ops
  std::vector<DType> storage_dtypes;  ///< what map() takes
  std::map<std::string, std::uint64_t> limits;
  std::vector<std::string> features;
  std::uint64_t memory_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
  std::uint32_t compute_units = 0;  ///< cores or multiprocessors; 0 where the device does not say
};

/// What suits the device, for callers that can choose.
struct PerformanceHints {
  std::uint32_t simd_width = 0;           ///< float32 lanes that run together
  std::uint32_t preferred_alignment = 0;  ///< bytes
  std::uint64_t cache_bytes = 0;          ///< the last cache level; 0 where unknown
  std::uint32_t preferred_workgroup_size = 0;
  std::uint32_t concurrency = 0;  ///< threads or compute units; 1 where the device does not say
};

}  // namespace tilewright
