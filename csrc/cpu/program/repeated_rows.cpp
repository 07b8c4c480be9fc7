#include "cpu/program/repeated_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "cpu/program/block_moves.hpp"
#include "cpu/program/block_walk.hpp"

namespace tilewright::cpu {

namespace {

/// Rows that are long enough as they are; elements that are worth writing something out first; and
/// so many that what is written out stays in the nearest caches.
constexpr Size long_row = 64, least_elements = 1 << 12, most_repeated = 1 << 13;
/// Rows that are made, how often what is written out is read at least, and floats of a vector.
constexpr Size made_row = 1024, least_periods = 8, vector = 16;

enum class Kind : std::uint8_t { dense, repeated, one };

Size product(std::span<const Size> sizes) {
  Size all = 1;
  for (const Size size : sizes) all *= size;
  return all;
}

/// What an operand is, of which the dimensions from `first` on are walked as one.
std::optional<Kind> kind_of(const MapRequest& r, std::size_t operand, std::size_t first) {
  const auto is_zero = [](Size stride) { return stride == 0; };
  if (is_one_element(r, operand)) return Kind::one;
  if (std::ranges::all_of(r.strides(operand).first(first), is_zero)) return Kind::repeated;
  return lies_in_order(r, operand) ? std::optional(Kind::dense) : std::nullopt;
}

/// Writes the elements of the dimensions from `first` on side by side.
template <class Word>
void write_out(const MapRequest& r, std::size_t operand, std::size_t first, const Word* from,
               Word* to) {
  const std::span<const Size> shape = r.shape().subspan(first),
                              strides = r.strides(operand).subspan(first);
  const std::size_t last = shape.size() - 1;
  std::array<Size, max_rank> index{};
  for (bool any = true; any;) {
    const Word* x = from;
    for (std::size_t d = 0; d < last; ++d) x += index[d] * strides[d];
    if (strides[last] == 0) {
      to = std::fill_n(to, shape[last], *x);
    } else {
      for (Size i = 0; i < shape[last]; ++i) *to++ = x[i * strides[last]];
    }
    any = false;
    for (std::size_t d = last; d-- > 0 && !any;) {
      any = ++index[d] < shape[d];
      if (!any) index[d] = 0;
    }
  }
}

}  // namespace

std::vector<MapRequest> unfold_repeated_rows(const MapRequest& r, const ProgramSteps& steps,
                                             MemoryPool& pool) {
  if (r.rank < 2 || r.n < least_elements || r.shape()[r.rank - 1] >= long_row ||
      steps.steps.size() != 1 || steps.steps[0].results != 1) {
    return {};
  }
  std::size_t first = 1;
  while (first < r.rank && product(r.shape().subspan(first)) > most_repeated) ++first;
  if (first == r.rank) return {};
  const Size period = product(r.shape().subspan(first)), periods = r.n / period;
  const Size together = std::max<Size>(made_row / period, 1);
  // Rows of whole vectors are as fast as they are, unless a block has few of them.
  const bool is_whole = r.shape()[r.rank - 1] % vector == 0;
  if (periods < least_periods * together || (is_whole && period > made_row / 2)) return {};
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    const std::optional<Kind> kind = kind_of(r, i, first);
    const bool is_input = i < r.same_as.size();
    const bool is_taken =
        kind && (*kind == Kind::dense || (is_input && r.same_as[i] == MapRequest::no_output));
    if (!is_taken) return {};
    kinds.push_back(*kind);
  }
  const auto repeated = static_cast<std::uint64_t>(std::ranges::count(kinds, Kind::repeated));
  constexpr std::uint64_t largest_element = 8;
  const std::uint64_t made = repeated * static_cast<std::uint64_t>(together * period);
  if (repeated == 0 || made * largest_element > pool.scratch_room()) return {};

  const Size width = together * period, rows = periods / together, rest = r.n - rows * width;
  MapRequest whole{.program = r.program,
                   .n = rows * width,
                   .rank = 2,
                   .operands = r.operands,
                   .sizes = {rows, width},
                   .numbers = r.numbers,
                   .same_as = r.same_as};
  MapRequest last = whole;
  last.n = rest;
  last.rank = 1;
  last.sizes = {rest};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Size step = kinds[i] == Kind::one ? 0 : 1;
    whole.sizes.insert(whole.sizes.end(), {kinds[i] == Kind::dense ? width : 0, step});
    last.sizes.push_back(step);
    if (kinds[i] == Kind::dense) last.operands[i].offset += rows * width;
    if (kinds[i] != Kind::repeated) continue;
    const std::size_t size = size_of(r.program->nodes[r.program->inputs[i]].dtype);
    const std::size_t bytes = static_cast<std::size_t>(period) * size;
    const AllocationRef block = pool.scratch("map", static_cast<std::uint64_t>(together) * bytes);
    with_word(size, [&]<class Word>(Word) {
      write_out(r, i, first, data<Word>(r.operands[i].allocation) + r.operands[i].offset,
                data<Word>(block));
    });
    std::byte* const to = data<std::byte>(block);
    for (Size t = 1; t < together; ++t) {
      std::memcpy(to + static_cast<std::size_t>(t) * bytes, to, bytes);
    }
    whole.operands[i] = last.operands[i] = {block, 0};
  }
  std::vector<MapRequest> all;
  all.push_back(std::move(whole));
  if (rest > 0) all.push_back(std::move(last));
  return all;
}

}  // namespace tilewright::cpu
