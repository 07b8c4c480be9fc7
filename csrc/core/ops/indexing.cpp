#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/call_key.hpp"
#include "core/inline_vector.hpp"
#include "core/kept_requests.hpp"
#include "core/map_operands.hpp"
#include "core/scalar_table.hpp"
#include "core/text.hpp"
#include "tilewright/backend.hpp"

// Elements by arrays of indices and by masks, and searches for places.
namespace tilewright {

namespace {

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

/// gather_elements or scatter_elements while it is checked.
class Move {
 public:
  Move(const Call& call, std::span<const Size> shape, std::span<const IndexOperand> indices,
       DType dtype, bool scatter, std::string_view name)
      : call_(call), shape_(shape), indices_(indices), dtype_(dtype), rows_(shape) {
    call.known("dtype", dtype);
    r_.scatter = scatter;
    r_.name = name.empty() ? call.op() : name;
    if (indices.empty()) call.invalid("indices is empty, expected one array at least");
    if (shape.size() + indices.size() > max_rank) {
      call.invalid(text("shape has ", shape.size(), " dimensions and there are ", indices.size(),
                        " index arrays, expected at most ", max_rank, " together"));
    }
    r_.item = size_of(dtype);
    r_.n = call.product(shape);
    strides_.reserve((2 + indices.size()) * shape.size());
    places_.reserve(2 + indices.size());
  }

  /// What is indexed: by the call's strides, and by those of the axes.
  void indexed(std::string_view name, const MapOperand& operand, MapRequest::Operand& to) {
    InlineVector<Size, max_rank> sizes, strides;
    for (const Size size : shape_) {
      sizes.push_back(size);
      strides.push_back(0);
    }
    if (!operand.strides.empty()) {
      if (operand.strides.size() != shape_.size()) {
        call_.invalid(text(name, " has ", operand.strides.size(), " strides, expected ",
                           shape_.size(), ", one for each dimension of shape, or none"));
      }
      std::ranges::copy(operand.strides, strides.begin());
    }
    strides_.insert(strides_.end(), strides.begin(), strides.end());
    for (const IndexOperand& index : indices_) {
      sizes.push_back(index.size);
      strides.push_back(index.stride);
    }
    const RowStrides rows(sizes);
    const auto checked = check_operand(call_, name, {operand.buffer, strides, operand.offset},
                                       sizes, rows, dtype_, false, "shape and the axes");
    if (!checked) return;
    to = checked->operand;
    places_.push_back({name, *checked});
    reaches_.push_back(OperandReach::of(*checked, dtype_));
  }
  void plain(std::string_view name, const MapOperand& operand, DType dtype, bool is_output,
             MapRequest::Operand& to) {
    const auto checked =
        check_operand(call_, name, operand, shape_, rows_, dtype, is_output, "shape");
    const auto strides = rows_.of(operand);
    strides_.insert(strides_.end(), strides.begin(), strides.end());
    if (!checked) return;
    to = checked->operand;
    places_.push_back({name, *checked});
    reaches_.push_back(OperandReach::of(*checked, dtype));
  }
  /// One element for all, which comes later.
  void same(std::string_view name) {
    strides_.insert(strides_.end(), shape_.size(), 0);
    places_.push_back({name, {{nullptr, 0}, {0, 0}}});
    reaches_.push_back({0, 0, 1});
  }
  void check_indices() {
    r_.indices.reserve(indices_.size());
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      const IndexOperand& index = indices_[i];
      if (!is_integer(index.dtype) || index.size < 0) [[unlikely]]
        refuse_index(i);
      if (index.size == 0 && r_.n != 0) {
        throw IndexOutOfRange(
            text(r_.name, ": axis ", index.axis, " has no elements, and is indexed"));
      }
      r_.indices.push_back({{}, index.dtype, index.size, index.stride, index.axis});
    }
  }
  void place_indices() {
    static const Names names("indices");
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      std::string made;
      std::string_view name = names.of(i, made);
      if (!made.empty()) name = long_names_.emplace_back(std::move(made));
      plain(name, indices_[i].indices, indices_[i].dtype, false, r_.indices[i].operand);
    }
  }
  /// Of the operand that was added at this place.
  void written(std::size_t output) const {
    for (std::size_t i = 0; i < places_.size() && output < places_.size(); ++i) {
      const auto& [name, at] = places_[i];
      const auto& [output_name, to] = places_[output];
      if (i == output || at.operand.allocation != to.operand.allocation ||
          !at.place.meets(to.place)) {
        continue;
      }
      call_.invalid(text(output_name, " (bytes ", to.place.first, " to ", to.place.past,
                         ") overlaps ", name, " (bytes ", at.place.first, " to ", at.place.past,
                         "); the output must lie apart from all other operands"));
    }
  }
  /// The request without dimensions of size 1, neighbours joined. Source and output were added
  /// first.
  MoveRequest finish() {
    InlineVector<std::size_t, max_rank> last;
    const std::size_t operands = 2 + indices_.size();
    r_.sizes.reserve((1 + operands) * std::max<std::size_t>(shape_.size(), 1));
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (shape_[d] == 1) continue;
      bool follows = !last.empty();
      for (std::size_t o = 0; follows && o < operands; ++o) {
        follows = stride(o, last.back()) == stride(o, d) * shape_[d];
      }
      if (follows) {
        last.back() = d;
        r_.sizes.back() *= shape_[d];
      } else {
        last.push_back(d);
        r_.sizes.push_back(shape_[d]);
      }
    }
    r_.rank = std::max<std::size_t>(last.size(), 1);
    if (last.empty()) r_.sizes.push_back(1);
    for (std::size_t o = 0; o < operands; ++o) {
      if (last.empty()) r_.sizes.push_back(0);
      for (const std::size_t d : last) r_.sizes.push_back(stride(o, d));
    }
    return std::move(r_);
  }
  MoveRequest& request() { return r_; }
  /// Of the operand that was added at this place.
  const OperandReach& reach(std::size_t at) const { return reaches_[at]; }

 private:
  struct Named {
    std::string_view name;
    CheckedOperand at;
  };

  [[noreturn]] void refuse_index(std::size_t i) const {
    const std::string name = text("indices[", i, "]");
    const IndexOperand& index = indices_[i];
    call_.known(name + ".dtype", index.dtype);
    if (!is_integer(index.dtype)) {
      call_.invalid(text(name, ".dtype is ", to_string(index.dtype), ", expected one of integers"));
    }
    call_.invalid(text(name, ".size is ", index.size, ", expected 0 or more"));
  }
  Size stride(std::size_t operand, std::size_t d) const {
    return strides_[operand * shape_.size() + d];
  }

  const Call& call_;
  const std::span<const Size> shape_;
  const std::span<const IndexOperand> indices_;
  const DType dtype_;
  const RowStrides rows_;
  MoveRequest r_;
  // Of usual calls all lies here.
  std::array<std::byte, 1024> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<Size> strides_{&memory_};  // of each operand along all dimensions
  std::pmr::vector<Named> places_{&memory_};
  std::pmr::vector<OperandReach> reaches_{&memory_};
  std::pmr::list<std::string> long_names_{&memory_};
};

/// The arguments of gather_elements or scatter_elements.
struct MoveArguments {
  const MapOperand& source;
  std::span<const IndexOperand> indices;
  const MapOperand& output;
  std::span<const Size> shape;
  DType dtype;
  std::string_view name;
  bool scatter;
  std::optional<Scalar> number = {};  ///< in place of the source

  /// By the order in which requests keep operands.
  std::pair<std::string_view, const MapOperand&> operand(std::size_t i) const {
    static const Names names("indices");
    if (i == 0) return {"source", source};
    std::string made;  // of more than are kept
    if (i <= indices.size()) return {names.of(i - 1, made), indices[i - 1].indices};
    return {"output", output};
  }
  std::size_t count() const { return 2 + indices.size(); }
};

/// What a request follows from besides its buffers; none where that is too much to keep it.
std::optional<CallKey> key_of(const MoveArguments& given) {
  if (given.count() > KeptRequest<MoveRequest>::most_operands || given.shape.size() > max_rank) {
    return std::nullopt;
  }
  CallKey key;
  key.add(given.scatter);
  key.add(given.number.has_value());
  key.add(given.dtype);
  key.add(given.shape.size());
  key.add(given.indices.size());
  for (const Size size : given.shape) key.add(size);
  const auto add_strides = [&](const MapOperand& operand) {
    key.add(operand.strides.size());
    for (const Size stride : operand.strides) key.add(stride);
  };
  add_strides(given.source);
  add_strides(given.output);
  for (const IndexOperand& index : given.indices) {
    add_strides(index.indices);
    key.add(index.dtype);
    key.add(index.size);
    key.add(index.stride);
    key.add(index.axis);
  }
  key.add(given.name.size());
  for (std::size_t at = 0; at < given.name.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, given.name.data() + at, std::min(sizeof word, given.name.size() - at));
    key.add(word);
  }
  if (!key.fits()) return std::nullopt;
  key.seal();
  return key;
}

/// Has what was checked of a call run, and keeps it for the next of its kind. `number_of` gives the
/// memory that the number is in, once the checks are over.
template <class NumberOf, class Run>
void move_elements(Call& call, BackendState& state, const MoveArguments& given,
                   const NumberOf& number_of, const Run& run) {
  const std::optional<CallKey> key = key_of(given);
  auto* const known = key ? state.kept_moves.find(*key) : nullptr;
  const auto begin = [&](MoveRequest& request) {
    if (given.number) request.source = {number_of(), 0};
    run(request);
  };
  if (known != nullptr) {
    const UsedRequest used(*known);
    const auto operand = [&](std::size_t i) { return given.operand(i); };
    if (known->fill(call, operand, given.number ? 1 : 0)) {
      call.checked();
      return begin(known->request);
    }
  }
  call.shape("shape", given.shape);
  Move move(call, given.shape, given.indices, given.dtype, given.scatter, given.name);
  MoveRequest& r = move.request();
  move.check_indices();
  if (given.number) {
    move.same("value");
    move.indexed("output", given.output, r.output);
  } else if (given.scatter) {
    move.plain("source", given.source, given.dtype, false, r.source);
    move.indexed("output", given.output, r.output);
  } else {
    move.indexed("source", given.source, r.source);
    move.plain("output", given.output, given.dtype, true, r.output);
  }
  move.place_indices();
  if (r.n == 0) return;
  constexpr std::size_t output = 1;
  move.written(output);
  MoveRequest request = move.finish();
  call.checked();
  if (key) {
    keep_request(state.mutex, state.kept_moves, *key, [&](KeptRequest<MoveRequest>& kept) {
      kept.request = request;
      kept.count = given.count();
      kept.outputs = 1;
      kept.reaches[0] = move.reach(0);
      for (std::size_t i = 0; i < given.indices.size(); ++i) {
        kept.reaches[1 + i] = move.reach(2 + i);
      }
      kept.reaches[kept.count - 1] = move.reach(output);
    });
  }
  begin(request);
}

void index_dtype_known(const Call& call, DType dtype) {
  if (dtype == DType::int64 || dtype == DType::int32) return;
  call.known("index_dtype", dtype);
  call.invalid(text("index_dtype is ", to_string(dtype), ", expected int64 or int32"));
}

/// Places are counted in 32 bits.
void check_places(const Call& call, std::string_view name, Size n, DType index_dtype) {
  const Size most = index_dtype == DType::int32 ? std::numeric_limits<std::int32_t>::max()
                                                : std::numeric_limits<std::uint32_t>::max();
  if (n <= most) return;
  throw Unsupported(text(call.op(), ": ", name, " is ", n, ", and places are counted up to ", most,
                         "; split the work into smaller calls"));
}

void check_mask(const Call& call, MaskRequest& r, Buffer mask, Buffer counts, Size n) {
  r.n = n;
  r.mask = call.buffer("mask", mask, n, DType::boolean);
  r.counts = call.buffer("counts", counts, mask_counts_size(n), DType::uint32);
}

}  // namespace

void Backend::gather_elements(const MapOperand& source, std::span<const IndexOperand> indices,
                              const MapOperand& output, std::span<const Size> shape, DType dtype,
                              std::string_view name) {
  Call call(*state_, "gather_elements");
  move_elements(
      call, *state_, {source, indices, output, shape, dtype, name, false},
      [] { return AllocationRef(); },
      [&](const MoveRequest& request) { do_gather_elements(request); });
}

void Backend::scatter_elements(const MapOperand& source, std::span<const IndexOperand> indices,
                               const MapOperand& output, std::span<const Size> shape, DType dtype,
                               std::string_view name) {
  Call call(*state_, "scatter_elements");
  move_elements(
      call, *state_, {source, indices, output, shape, dtype, name, true},
      [] { return AllocationRef(); },
      [&](const MoveRequest& request) { do_scatter_elements(request); });
}

void scatter_number(Backend& backend, const Number& number, std::span<const IndexOperand> indices,
                    const MapOperand& output, std::span<const Size> shape, DType dtype,
                    std::string_view name) {
  Call call(*backend.state_, "scatter_elements");
  call.known("dtype", dtype);
  const Scalar scalar = Scalar::of_bits(number.bits(dtype, "value"), dtype);
  AllocationRef kept = backend.state_->scalars.find(scalar);
  const MapOperand none;
  move_elements(
      call, *backend.state_, {none, indices, output, shape, dtype, name, true, scalar},
      [&] { return kept ? std::move(kept) : backend.on_device(name, scalar); },
      [&](const MoveRequest& request) { backend.do_scatter_elements(request); });
}

void Backend::mask_counts(Buffer mask, Buffer counts, Size n) {
  Call call(*state_, "mask_counts");
  call.not_negative("n", n);
  MaskRequest r{};
  check_mask(call, r, mask, counts, n);
  check_places(call, "n", n, DType::int64);
  call.apart("counts", r.counts, "mask", r.mask);
  call.checked();
  stand_in(r.mask);
  do_mask_counts(r);
}

void Backend::compact(Buffer mask, Buffer counts, Buffer source, Buffer output, Size n, Size count,
                      DType dtype) {
  Call call(*state_, "compact");
  call.not_negative("n", n);
  call.not_negative("count", count);
  call.known("dtype", dtype);
  MaskRequest r{};
  check_mask(call, r, mask, counts, n);
  check_places(call, "n", n, DType::int64);
  r.source = call.buffer("source", source, n, dtype);
  r.output = call.buffer("output", output, count, dtype);
  call.apart("output", r.output, "mask", r.mask);
  call.apart("output", r.output, "counts", r.counts);
  call.apart("output", r.output, "source", r.source);
  r.count = std::min(n, count);
  r.dtype = dtype;
  call.checked();
  if (r.count != 0) do_compact(r);
}

void Backend::nonzero(Buffer mask, Buffer counts, Buffer output, std::span<const Size> shape,
                      Size count, DType index_dtype) {
  Call call(*state_, "nonzero");
  call.shape("shape", shape);
  if (shape.empty()) call.invalid("shape has no dimensions, expected one at least");
  call.not_negative("count", count);
  index_dtype_known(call, index_dtype);
  MaskRequest r{};
  const Size n = call.product(shape);
  check_mask(call, r, mask, counts, n);
  check_places(call, "the mask's size", n, index_dtype);
  r.output =
      call.buffer("output", output, call.mul(static_cast<Size>(shape.size()), count), index_dtype);
  call.apart("output", r.output, "mask", r.mask);
  call.apart("output", r.output, "counts", r.counts);
  r.count = count;
  r.dtype = index_dtype;
  r.shape.assign(shape.begin(), shape.end());
  call.checked();
  if (n != 0 && count != 0) do_nonzero(r);
}

void Backend::search_sorted(Buffer sorted, Buffer values, Buffer output, Size n, Size count,
                            bool right, DType dtype, DType index_dtype) {
  Call call(*state_, "search_sorted");
  call.not_negative("n", n);
  call.not_negative("count", count);
  call.known("dtype", dtype);
  index_dtype_known(call, index_dtype);
  SearchRequest r;
  r.sorted = call.buffer("sorted", sorted, n, dtype);
  r.values = call.buffer("values", values, count, dtype);
  r.output = call.buffer("output", output, count, index_dtype);
  check_places(call, "n", n, index_dtype);
  call.apart("output", r.output, "sorted", r.sorted);
  call.apart("output", r.output, "values", r.values);
  r.n = n;
  r.count = count;
  r.right = right;
  r.dtype = dtype;
  r.index_dtype = index_dtype;
  call.checked();
  if (count == 0) return;
  stand_in(r.sorted);
  do_search_sorted(r);
}

}  // namespace tilewright
