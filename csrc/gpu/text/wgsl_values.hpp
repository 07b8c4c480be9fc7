#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/program/program_data.hpp"
#include "gpu/text/wgsl_functions.hpp"

// What kernels of programs in WGSL are made of. Values are vectors of four.
namespace tilewright::gpu {

namespace wgsl {

inline std::string_view class_name(DType dtype) { return to_string(class_of(dtype)); }
std::string vector_of(std::string_view scalar);
inline bool is_small(DType dtype) { return size_of(dtype) < 4; }
inline bool is_wide(DType dtype) { return size_of(dtype) == 8; }
inline bool is_real(DType dtype) {
  return class_of(dtype) == ComputeClass::f32 || class_of(dtype) == ComputeClass::f64;
}

}  // namespace wgsl

/// An operand of a kernel in memory.
struct WgslOperand {
  std::string name;    ///< its functions are readNAME and writeNAME
  std::string buffer;  ///< the variable
  DType dtype;
  DType stored;  ///< what the variable is declared for: an output in place has another's
  bool quads;    ///< whole ones, each of which lies on its own size
  bool atomic;   ///< an array of atomic<u32>

  /// What the variable is an array of.
  std::string item_type() const;
};

/// fn readNAME(quad: u32), or readNAME(at: vec4<u32>), of four elements.
std::string wgsl_read(WgslFunctions& functions, const WgslOperand& operand);
/// fn writeNAME(quad: u32, value) and with `some` write_someNAME(quad: u32, value, ours:
/// vec4<bool>) of quads, else writeNAME(at: vec4<u32>, value, ours: vec4<bool>), of the first lane
/// alone unless `all_lanes`.
std::string wgsl_write(WgslFunctions& functions, const WgslOperand& operand, bool all_lanes,
                       bool some);

/// One op of values that are named; `same` says that both of them may be one.
std::string wgsl_op(WgslFunctions& functions, ElementOp op, DType dtype, DType result,
                    const std::array<std::string, 3>& operands, bool same);

/// struct RESULTS { result0, ... } and fn NAME(v of each input that is needed) -> RESULTS. `word`
/// says where the words of a number are, and `place` what memory an input may share with others.
std::string wgsl_compute(WgslFunctions& functions, const ProgramData& program,
                         std::string_view name, std::string_view results,
                         const std::function<std::string(std::size_t, std::uint32_t)>& word,
                         const std::function<std::uint32_t(std::uint32_t)>& place);

}  // namespace tilewright::gpu
