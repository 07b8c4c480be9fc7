#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/call.hpp"
#include "tilewright/program.hpp"

// The operands of map() and of its kin while a call is checked.
namespace tilewright {

/// "inputs[3]", without making it for the first few.
class Names {
 public:
  explicit Names(std::string_view list);
  std::string_view of(std::size_t i, std::string& place) const;

 private:
  std::string made(std::size_t i) const;

  std::string_view list_;
  std::array<std::string, 8> first_;
};

/// The strides of an operand without any: contiguous, row by row.
class RowStrides {
 public:
  explicit RowStrides(std::span<const Size> shape);
  /// Those of an operand, which may be its own.
  std::span<const Size> of(const MapOperand& operand) const {
    return operand.strides.empty() ? std::span<const Size>(rows_).first(rank_) : operand.strides;
  }

 private:
  std::size_t rank_;
  std::array<Size, max_rank> rows_;
};

/// Bytes of an allocation.
struct Place {
  Size first, past;
  bool meets(const Place& other) const { return first < other.past && other.first < past; }
};

struct CheckedOperand {
  MapRequest::Operand operand;
  Place place;
};
/// None where the shape has no elements.
std::optional<CheckedOperand> check_operand(const Call& call, std::string_view name,
                                            const MapOperand& operand, std::span<const Size> shape,
                                            const RowStrides& rows, DType dtype, bool is_output,
                                            std::string_view shape_name = "shape");

}  // namespace tilewright
