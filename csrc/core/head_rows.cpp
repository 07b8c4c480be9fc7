#include "core/head_rows.hpp"

#include <algorithm>

#include "core/map_operands.hpp"
#include "core/text.hpp"

namespace tilewright {

BufferRange check_rows(const Call& call, std::string_view name, const MapOperand& operand,
                       const Shape4& shape, Dims dims, DType dtype, Access access, HeadRows& rows) {
  const Size elements = call.product({shape[0], shape[1], shape[2], shape[3]});
  std::array<Size, 3> steps{};
  const auto finish = [&](const auto& step_of) {
    Size within = shape[3];
    for (std::size_t dim = steps.size(); dim-- > 0;) {
      steps[dim] = shape[dim] == 1 ? within : step_of(dim, within);
      within = steps[dim] * shape[dim];
    }
    rows = {steps[0], steps[1], steps[2]};
  };
  if (operand.strides.empty() && operand.offset == 0) {
    finish([](std::size_t, Size within) { return within; });
    return call.buffer(name, operand.buffer, elements, dtype);
  }
  // Strides may leave out dimensions in front that have a single place.
  const std::size_t given = operand.strides.size();
  const std::size_t left_out = given < dims.size() && given > 0 ? dims.size() - given : 0;
  const auto single = [&](std::size_t dim) { return shape[dim] == 1; };
  if (std::ranges::all_of(dims.first(left_out), single)) dims = dims.subspan(left_out);
  std::array<Size, 4> sizes;
  for (std::size_t i = 0; i < dims.size(); ++i) sizes[i] = shape[dims[i]];
  const std::span<const Size> own_shape = std::span(sizes).first(dims.size());
  const RowStrides by_rows(own_shape);
  const auto checked = check_operand(call, name, operand, own_shape, by_rows, dtype,
                                     access != Access::read, "its shape");
  if (!checked) return {};
  const std::span<const Size> strides = by_rows.of(operand);
  const auto refuse = [&](std::size_t i, std::string_view expected) {
    call.invalid(text(name, ".strides[", i, "] is ", strides[i], ", expected ", expected,
                      "; copy it to where its rows lie so"));
  };
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    if (sizes[i] > 1 && strides[i] < 0) refuse(i, "0 or more");
  }
  if (shape[3] > 1 && strides.back() != 1) refuse(dims.size() - 1, "1, the elements side by side");
  finish([&](std::size_t dim, Size) {
    std::size_t i = 0;
    while (dims[i] != dim) ++i;
    return strides[i];
  });
  const auto [first, past] = checked->place;
  return {checked->operand.allocation, static_cast<std::uint64_t>(first),
          static_cast<std::uint64_t>(past - first)};
}

}  // namespace tilewright
