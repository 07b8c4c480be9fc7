#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tilewright {

/// A value for a constant that a kernel's code leaves open.
using KernelConstant = std::variant<bool, std::int64_t, double>;

/// What a kernel of one's own is made from.
struct KernelSource {
  std::string code = {};       ///< webgpu: WGSL; level-zero: the bytes of a SPIR-V module
  std::string entry = "main";  ///< which of the code's entry points
  std::string name = {};       ///< for messages and profiles; empty: the entry's
  /// Leaves out the checks that keep a kernel within its buffers and end its loops. SPIR-V, which
  /// has none, must be trusted.
  bool trusted = false;
  /// Values for WGSL's overrides and SPIR-V's specialization constants, by name or by number, as
  /// WGSL's attribute id and SPIR-V's SpecId have it ("3"). A name that the code does not declare,
  /// a value of another type and one out of the type's range are InvalidArgument; whole numbers are
  /// taken for real ones.
  std::map<std::string, KernelConstant> constants = {};
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
  std::uint64_t workgroup_bytes = 0;  ///< of workgroup memory: on webgpu what the entry point can
                                      ///< reach, on level-zero what the module has
  double compile_seconds = 0;         ///< what the device's compiler took
  /// What the compiler said, such as warnings; empty where it said nothing, as always on webgpu,
  /// and where the driver's binary was kept from an earlier process.
  std::string log;
};

}  // namespace tilewright
