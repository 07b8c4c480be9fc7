#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// What a kernel of one's own is made from.
struct KernelSource {
  std::string code;            ///< webgpu: WGSL; level-zero: the bytes of a SPIR-V module
  std::string entry = "main";  ///< which of the code's entry points
  std::string name;            ///< for messages and profiles; empty: the entry's
  /// Leaves out the checks that keep a kernel within its buffers and end its loops. SPIR-V, which
  /// has none, must be trusted.
  bool trusted = false;
};

/// A buffer that a kernel's code declares.
struct KernelBinding {
  std::string name;
  bool writable = false;
  std::uint64_t least_bytes = 0;  ///< the buffer must hold; of an open-ended array one element
};

/// One of the parameters that a kernel's code declares.
struct KernelParameter {
  std::string name;
  std::string type;  ///< as WGSL calls it, "u32" or "vec4<f32>"; "int32" has either sign
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What a launch of a kernel takes, as read from its code.
struct KernelInfo {
  std::string name;
  std::vector<KernelBinding> bindings;
  std::vector<KernelParameter> params;
  std::uint64_t params_bytes = 0;
  std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
};

}  // namespace tilewright
