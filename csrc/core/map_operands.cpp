#include "core/map_operands.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/text.hpp"

namespace tilewright {

namespace {

/// The elements before and behind the first one that strides reach.
struct Reach {
  Size before = 0, behind = 0;
};

Reach reach_of(const Call& call, std::string_view name, std::span<const Size> shape,
               std::span<const Size> strides) {
  constexpr Size least = std::numeric_limits<Size>::min();
  Reach reach;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] == least) {
      call.invalid(text(name, ".strides[", i, "] is ", strides[i], ", which no buffer can hold"));
    }
    const Size size = strides[i] < 0 ? -strides[i] : strides[i];
    Size& side = strides[i] < 0 ? reach.before : reach.behind;
    side = call.add(side, call.mul(shape[i] - 1, size));
  }
  return reach;
}

/// Whether no two elements share a place: sorted by their strides, each dimension steps over all
/// that the ones within it reach.
bool apart(std::span<const Size> shape, std::span<const Size> strides) {
  std::array<std::pair<Size, Size>, max_rank> dims;  // stride, size
  std::size_t count = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) dims[count++] = {strides[i] < 0 ? -strides[i] : strides[i], shape[i]};
  }
  std::sort(dims.begin(), dims.begin() + count);
  Size within = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (dims[i].first <= within) return false;
    within += dims[i].first * (dims[i].second - 1);
  }
  return true;
}

}  // namespace

Names::Names(std::string_view list) : list_(list) {
  for (std::size_t i = 0; i < first_.size(); ++i) first_[i] = made(i);
}
std::string_view Names::of(std::size_t i, std::string& place) const {
  if (i < first_.size()) return first_[i];
  return place = made(i);
}
std::string Names::made(std::size_t i) const { return text(list_, "[", i, "]"); }

RowStrides::RowStrides(std::span<const Size> shape) : rank_(shape.size()) {
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  constexpr Size most = std::numeric_limits<Size>::max();
  Size step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    rows_[i] = step;
    // What no buffer has is refused where it is asked for.
    if (!empty) step = step > most / shape[i] ? most : step * shape[i];
  }
}

std::optional<CheckedOperand> check_operand(const Call& call, std::string_view name,
                                            const MapOperand& operand, std::span<const Size> shape,
                                            const RowStrides& rows, DType dtype, bool is_output,
                                            std::string_view shape_name) {
  const std::span<const Size> strides = rows.of(operand);
  if (strides.size() != shape.size()) {
    call.invalid(text(name, " has ", strides.size(), " strides, expected ", shape.size(),
                      ", one for each dimension of ", shape_name));
  }
  if (operand.offset < 0) {
    call.invalid(text(name, ".offset is ", operand.offset, ", expected 0 or more"));
  }
  if (std::ranges::find(shape, 0) != shape.end()) {
    if (operand.buffer != Buffer::null) call.buffer(name, operand.buffer);
    return std::nullopt;
  }
  const Reach reach = reach_of(call, name, shape, strides);
  if (reach.before > operand.offset) {
    call.invalid(text(name, " starts at element ", operand.offset, ", and its strides reach ",
                      reach.before, " elements before that; raise its offset"));
  }
  const Size past = call.add(call.add(operand.offset, reach.behind), 1);
  const auto size = static_cast<Size>(size_of(dtype));
  const BufferRange range = call.buffer(name, operand.buffer, past, dtype);
  const Size first = static_cast<Size>(range.offset) / size;
  if (is_output && !apart(shape, strides)) {
    call.invalid(text(name,
                      " has strides by which elements share a place, or lie among each "
                      "other; the elements of an output must be apart"));
  }
  return CheckedOperand{{range.allocation, first + operand.offset},
                        {(first + operand.offset - reach.before) * size, (first + past) * size}};
}

}  // namespace tilewright
