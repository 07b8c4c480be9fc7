#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "core/text.hpp"
#include "gpu/backend.hpp"
#include "gpu/ops/map.hpp"
#include "gpu/plan.hpp"
#include "tilewright/error.hpp"

// Programs of more operands than a kernel binds.
namespace tilewright::gpu {

namespace {

/// What an input starts on in its buffer.
constexpr Size alignment = 64;

/// Elements of an operand, which has one for all places along a dimension of stride 0.
Size elements_of(const MapRequest& r, std::size_t o) {
  Size n = 1;
  for (std::size_t d = 0; d < r.rank; ++d) n *= r.strides(o)[d] == 0 ? 1 : r.shape()[d];
  return n;
}

Size aligned(Size elements) { return (elements + alignment - 1) / alignment * alignment; }

/// Dense strides of what elements_of() counts.
std::vector<Size> dense_strides(const MapRequest& r, std::size_t o) {
  std::vector<Size> strides(r.rank, 0);
  Size step = 1;
  for (std::size_t d = r.rank; d-- > 0;) {
    if (r.strides(o)[d] == 0) continue;
    strides[d] = step;
    step *= r.shape()[d];
  }
  return strides;
}

/// The elements of an input, to be copied to where they are dense.
MapRequest copy_of(const MapRequest& r, std::size_t o, const MapRequest::Operand& to) {
  MapRequest copy;
  copy.program = identity_program(operand_dtype(*r.program, o));
  copy.n = elements_of(r, o);
  copy.operands = {r.operands[o], to};
  copy.same_as = {MapRequest::no_output};
  std::vector<Size> from_strides, to_strides;
  const std::vector<Size> dense = dense_strides(r, o);
  for (std::size_t d = 0; d < r.rank; ++d) {
    if (dense[d] == 0) continue;
    copy.sizes.push_back(r.shape()[d]);
    from_strides.push_back(r.strides(o)[d]);
    to_strides.push_back(dense[d]);
  }
  if (copy.sizes.empty()) copy.sizes = from_strides = to_strides = {1};
  copy.rank = copy.sizes.size();
  copy.sizes.insert(copy.sizes.end(), from_strides.begin(), from_strides.end());
  copy.sizes.insert(copy.sizes.end(), to_strides.begin(), to_strides.end());
  return copy;
}

/// The outputs from `first` on, with their shape and strides.
MapRequest with_outputs(const MapRequest& r, std::size_t first, std::size_t count) {
  const std::size_t inputs = r.same_as.size();
  MapRequest some = r;
  some.program = some_outputs(r.program, first, count);
  some.operands.resize(inputs);
  some.sizes.resize((1 + inputs) * r.rank);
  for (std::size_t o = inputs + first; o < inputs + first + count; ++o) {
    some.operands.push_back(r.operands[o]);
    some.sizes.insert(some.sizes.end(), r.strides(o).begin(), r.strides(o).end());
  }
  return some;
}

}  // namespace

void GpuBackend::map_packed(const MapRequest& r, const std::vector<bool>& used) {
  if (PlanCapture* const capture = recorder_->capture()) capture->drop();  // numbers are not last
  const std::size_t inputs = r.same_as.size(), outputs = r.operands.size() - inputs;
  std::map<DType, Size> elements;  // of all inputs of a dtype
  for (std::size_t i = 0; i < inputs; ++i) {
    if (used[i]) elements[operand_dtype(*r.program, i)] += aligned(elements_of(r, i));
  }
  // One more binding may be the parameters'.
  const std::size_t taken = elements.size() + 1, most = device_->limits().max_bindings;
  if (taken >= most) {
    throw Unsupported(text("map: the program's inputs are of ", elements.size(),
                           " dtypes, more than a kernel of ", device_->info().name,
                           " takes beside an output; cast some of them in a program before it"));
  }
  std::uint64_t largest = 0, all = 0;
  for (const auto& [dtype, count] : elements) {
    largest = std::max(largest, bytes_of(count, dtype));
    all += bytes_of(count, dtype);
  }
  const auto longest = std::ranges::max_element(r.shape());
  if ((largest > window_bytes() || all > scratch_limit()) && *longest > 1) {
    const auto d = static_cast<std::size_t>(longest - r.shape().begin());
    map_packed(part_of(r, d, 0, *longest / 2), used);
    return map_packed(part_of(r, d, *longest / 2, *longest - *longest / 2), used);
  }

  MapRequest packed = r;
  std::map<DType, std::pair<AllocationRef, Size>> buffers;  // and elements of them that are taken
  for (const auto& [dtype, count] : elements) {
    buffers[dtype] = {memory_->scratch("map", bytes_of(count, dtype)), 0};
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!used[i]) continue;
    auto& [buffer, taken_elements] = buffers[operand_dtype(*r.program, i)];
    packed.operands[i] = {
        buffer, std::exchange(taken_elements, taken_elements + aligned(elements_of(r, i)))};
    packed.same_as[i] = MapRequest::no_output;
    launch_map(copy_of(r, i, packed.operands[i]));
    const std::vector<Size> strides = dense_strides(r, i);
    std::ranges::copy(strides,
                      packed.sizes.begin() + static_cast<std::ptrdiff_t>((1 + i) * r.rank));
  }
  for (std::size_t first = 0; first < outputs; first += most - taken) {
    const MapRequest some = with_outputs(packed, first, std::min(most - taken, outputs - first));
    const std::vector<bool> needed = some.program->needed();
    std::vector<bool> bound(some.operands.size(), true);
    for (std::size_t i = 0; i < inputs; ++i) bound[i] = needed[some.program->inputs[i]];
    MapPiece piece = piece_of(some, bound);
    piece.packed = true;
    map_piece(some, piece);
  }
}

}  // namespace tilewright::gpu
