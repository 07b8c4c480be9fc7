#include "cpu/program/tiny_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/program/program_data.hpp"
#include "cpu/elements.hpp"
#include "cpu/program/block_moves.hpp"
#include "cpu/thread_pool.hpp"

namespace tilewright::cpu {

namespace {

/// Elements of a block that are worth no table, of a request that is, and of a table at most.
constexpr std::size_t tiny = 32, most_of_table = 2048;
constexpr Size least_elements = 1 << 10;
/// Elements that are written in order at a time, so that they stay in the nearer caches.
constexpr Size most_at_once = 1 << 16;

DType dtype_of_input(const MapRequest& r, std::size_t input) {
  return r.program->nodes[r.program->inputs[input]].dtype;
}

/// Where the elements of the dimensions from `first` on are, in their order.
std::vector<Size> table_of(std::span<const Size> shape, std::span<const Size> strides,
                           std::size_t first) {
  std::vector<Size> places{0};
  for (std::size_t d = first; d < shape.size(); ++d) {
    std::vector<Size> longer;
    longer.reserve(places.size() * static_cast<std::size_t>(shape[d]));
    for (const Size place : places) {
      for (Size i = 0; i < shape[d]; ++i) longer.push_back(place + i * strides[d]);
    }
    places = std::move(longer);
  }
  return places;
}

template <class Word>
void write(const MapRequest& r, std::size_t operand, Word* to) {
  const std::span<const Size> shape = r.shape(), strides = r.strides(operand);
  std::size_t first = r.rank, inner = 1;
  while (first > 1 && inner * static_cast<std::size_t>(shape[first - 1]) <= most_of_table) {
    inner *= static_cast<std::size_t>(shape[--first]);
  }
  const std::vector<Size> places = table_of(shape, strides, first);
  const Word* const from = data<Word>(r.operands[operand].allocation) + r.operands[operand].offset;
  const std::size_t count = static_cast<std::size_t>(r.n) / inner;
  const std::size_t grain = std::max<std::size_t>(element_grain / inner, 1);
  parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    std::array<Size, max_rank> index{};
    const Word* x = from;
    std::size_t left = begin;
    for (std::size_t d = first; d-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[d]);
      index[d] = static_cast<Size>(left % size);
      left /= size;
      x += index[d] * strides[d];
    }
    Word* y = to + begin * inner;
    for (std::size_t i = begin; i < end; ++i, y += inner) {
      for (std::size_t j = 0; j < inner; ++j) y[j] = x[places[j]];
      for (std::size_t d = first; d-- > 0;) {
        x += strides[d];
        if (++index[d] < shape[d]) break;
        x -= index[d] * strides[d];
        index[d] = 0;
      }
    }
  });
}

}  // namespace

bool has_tiny_blocks(const MapRequest& r, const BlockGrid& grid) {
  if (r.rank < 3 || r.n < least_elements || grid.elements() >= tiny) return false;
  const std::size_t inputs = r.same_as.size();
  bool any = false;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    if (lies_in_order(r, i)) continue;
    if (i >= inputs || r.same_as[i] != MapRequest::no_output) return false;
    any = any || !is_one_element(r, i);
  }
  return any;
}

bool each_of_first(const MapRequest& r, const std::function<void(const MapRequest&)>& body) {
  const Size count = r.shape()[0];
  if (r.n / count <= most_at_once) return false;
  MapRequest part = r;
  part.rank = r.rank - 1;
  part.n = r.n / count;
  part.sizes.clear();
  for (std::size_t i = 0; i < r.sizes.size(); ++i) {
    if (i % r.rank != 0) part.sizes.push_back(r.sizes[i]);
  }
  for (Size index = 0; index < count; ++index) {
    for (std::size_t i = 0; i < r.operands.size(); ++i) {
      part.operands[i].offset = r.operands[i].offset + index * r.strides(i)[0];
    }
    body(part);
  }
  return true;
}

void write_in_order(const MapRequest& r, std::size_t operand, std::size_t element_bytes,
                    std::byte* to) {
  with_word(element_bytes,
            [&]<class Word>(Word) { write(r, operand, reinterpret_cast<Word*>(to)); });
}

std::optional<OrderedParts> in_order(const MapRequest& r, MemoryPool& pool) {
  const Size rows = std::clamp<Size>(most_at_once * r.shape()[0] / r.n, 1, r.shape()[0]);
  const auto elements = static_cast<std::uint64_t>(rows * (r.n / r.shape()[0]));
  std::vector<std::uint64_t> bytes(r.operands.size());
  std::uint64_t made = 0;
  for (std::size_t i = 0; i < r.same_as.size(); ++i) {
    if (lies_in_order(r, i) || is_one_element(r, i)) continue;
    bytes[i] = elements * size_of(dtype_of_input(r, i));
    made += bytes[i];
  }
  if (made > pool.scratch_room()) return {};
  std::vector<AllocationRef> room;
  for (const std::uint64_t one : bytes)
    room.push_back(one > 0 ? pool.scratch("map", one) : nullptr);
  return OrderedParts(r, std::move(room), rows);
}

OrderedParts::OrderedParts(const MapRequest& request, std::vector<AllocationRef> room, Size rows)
    : request_(request), room_(std::move(room)), rows_(rows) {}

void OrderedParts::each(const std::function<void(const MapRequest&)>& body) const {
  MapRequest rows = request_;
  for (Size first = 0; first < request_.shape()[0]; first += rows_) {
    rows.sizes[0] = std::min(rows_, request_.shape()[0] - first);
    rows.n = request_.n / request_.shape()[0] * rows.sizes[0];
    MapRequest part{.program = rows.program,
                    .n = rows.n,
                    .rank = 1,
                    .operands = rows.operands,
                    .sizes = {rows.n},
                    .numbers = rows.numbers,
                    .same_as = rows.same_as};
    for (std::size_t i = 0; i < room_.size(); ++i) {
      rows.operands[i].offset = request_.operands[i].offset + first * request_.strides(i)[0];
      part.operands[i] = rows.operands[i];
      part.sizes.push_back(is_one_element(request_, i) ? 0 : 1);
      if (room_[i] == nullptr) continue;
      write_in_order(rows, i, size_of(dtype_of_input(rows, i)), data<std::byte>(room_[i]));
      part.operands[i] = {room_[i], 0};
    }
    body(part);
  }
}

}  // namespace tilewright::cpu
