#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/requests.hpp"
#include "cpu/backend.hpp"
#include "cpu/elements.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/words.hpp"

namespace tilewright::cpu {

namespace {

struct Plain {
  template <class T>
  T operator()(T value) const {
    return value;
  }
};

/// The bits of a float as an integer that is ordered as it is: both zeros are one, NaN is last.
template <int mantissa>
struct OfFloat {
  template <class T>
  std::make_signed_t<T> operator()(T bits) const {
    using Signed = std::make_signed_t<T>;
    constexpr T sign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
    constexpr T infinity = static_cast<T>(static_cast<T>(sign - 1) >> mantissa << mantissa);
    const T magnitude = bits & static_cast<T>(sign - 1);
    if (magnitude > infinity) return std::numeric_limits<Signed>::max();
    const auto value = static_cast<Signed>(magnitude);
    return (bits & sign) != 0 ? static_cast<Signed>(-value) : value;
  }
};

template <bool right, class T, class Key>
void search_from(const SearchRequest& r, const Key& key) {
  const T* const sorted = data<T>(r.sorted);
  const T* const values = data<T>(r.values);
  const std::size_t n = static_cast<std::size_t>(r.n);
  using Wanted = decltype(key(values[0]));
  /// Whether an element is in front of where a value is put.
  const auto is_before = [&](std::size_t place, const Wanted& wanted) {
    const auto at = key(sorted[place]);
    return right ? at <= wanted : at < wanted;
  };
  // Halves are left out without branches, which nothing would foresee, and for some values in turn,
  // of which none waits for the reads of another.
  constexpr std::size_t at_once = 16;
  /// Places of values that are in [low, low + left].
  const auto find = [&]<std::size_t count>(auto* output, const std::array<Wanted, count>& wanted,
                                           std::size_t low, std::size_t left) {
    std::array<std::size_t, count> first;
    first.fill(low);
    const auto skip = [&](std::size_t i, std::size_t step) {
      first[i] += step * static_cast<std::size_t>(is_before(first[i] + step - 1, wanted[i]));
    };
    while (left > 1) {
      const std::size_t half = left / 2;
      for (std::size_t i = 0; i < count; ++i) skip(i, half);
      left -= half;
    }
    for (std::size_t i = 0; left == 1 && i < count; ++i) skip(i, 1);
    using Place = std::remove_pointer_t<decltype(output)>;
    for (std::size_t i = 0; i < count; ++i) output[i] = static_cast<Place>(first[i]);
    return first[count - 1];
  };
  const auto find_all = [&](auto* output, std::size_t begin, std::size_t end) {
    std::array<Wanted, at_once> wanted;
    Wanted last{};
    std::size_t low = 0;
    bool follows = false;  // whether the place `low` of `last` is known
    for (; begin + at_once <= end; begin += at_once) {
      for (std::size_t i = 0; i < at_once; ++i) wanted[i] = key(values[begin + i]);
      bool ascends = !(wanted[0] < last);
      for (std::size_t i = 1; i < at_once; ++i) ascends &= !(wanted[i] < wanted[i - 1]);
      if (!(follows && ascends)) {
        low = find(output + begin, wanted, 0, n);
      } else {
        // Values that ascend are beside each other: how far they reach is found in growing steps.
        std::size_t past = low, step = at_once;
        while (past < n && is_before(past, wanted[at_once - 1])) {
          past += step;
          step *= 2;
        }
        past = std::min(past, n);
        low = find(output + begin, wanted, low, past - low);
      }
      last = wanted[at_once - 1];
      follows = true;
    }
    for (; begin < end; ++begin) find(output + begin, std::array{key(values[begin])}, 0, n);
  };
  const std::size_t steps =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(r.n))) + 1;
  parallel_for(static_cast<std::size_t>(r.count), element_grain / steps,
               [&](std::size_t begin, std::size_t end) {
                 if (r.index_dtype == DType::int32) {
                   find_all(data<std::int32_t>(r.output), begin, end);
                 } else {
                   find_all(data<std::int64_t>(r.output), begin, end);
                 }
               });
}

template <class T, class Key>
void search(const SearchRequest& r, const Key& key) {
  r.right ? search_from<true, T>(r, key) : search_from<false, T>(r, key);
}

/// Floats that processors compare: as they are where none of the values is NaN. An element that is
/// NaN is behind every number in either order.
template <class Float, class Bits, int mantissa>
void search_floats(const SearchRequest& r) {
  const Float* const values = data<Float>(r.values);
  bool any = false;
  for (Size i = 0; i < r.count; ++i) any |= values[i] != values[i];
  any ? search<Bits>(r, OfFloat<mantissa>()) : search<Float>(r, Plain());
}

}  // namespace

void CpuBackend::do_search_sorted(const SearchRequest& r) {
  switch (r.dtype) {
    case DType::float16:
      return search<std::uint16_t>(r, OfFloat<10>());
    case DType::bfloat16:
      return search<std::uint16_t>(r, OfFloat<7>());
    case DType::float32:
      return search_floats<float, std::uint32_t, 23>(r);
    case DType::float64:
      return search_floats<double, std::uint64_t, 52>(r);
    case DType::boolean:
      return search<std::uint8_t>(r, [](std::uint8_t value) { return value != 0; });
    default:
      return with_integer(r.dtype, [&]<class T>(T) { search<T>(r, Plain()); });
  }
}

}  // namespace tilewright::cpu
