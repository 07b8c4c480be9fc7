#pragma once

#include "cpu/kernels/sort_table.hpp"
#include "cpu/kernels/sort_vectors.hpp"

/// Between elements and their keys.
namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class E>
struct ElementVector;  // as many elements as there are lanes of their keys
template <>
struct ElementVector<std::int8_t> {
  typedef std::int8_t Type __attribute__((vector_size(lanes)));
};
template <>
struct ElementVector<std::int16_t> {
  typedef std::int16_t Type __attribute__((vector_size(lanes * 2)));
};
template <>
struct ElementVector<std::int32_t> {
  using Type = Ints;
};
template <>
struct ElementVector<std::int64_t> {
  using Type = LongInts;
};

template <class E, class S>
SORT_INLINE Keys<S> widened(const E* from) {
  using Elements = typename ElementVector<E>::Type;
  return __builtin_convertvector(load_bits<Elements>(from), Keys<S>);
}
template <class E, class S>
SORT_INLINE void store_narrowed(E* to, Keys<S> x) {
  const auto elements = __builtin_convertvector(x, typename ElementVector<E>::Type);
  __builtin_memcpy(to, &elements, sizeof elements);
}
/// The first `count` < key_lanes; the others are 0.
template <class E, class S>
SORT_INLINE Keys<S> widened(const E* from, std::size_t count) {
  E padded[key_lanes<S>] = {};
  for (std::size_t i = 0; i < count; ++i) padded[i] = from[i];
  return widened<E, S>(padded);
}
template <class E, class S>
SORT_INLINE void store_narrowed(E* to, Keys<S> x, std::size_t count) {
  if constexpr (sizeof(E) == sizeof(S)) {
    store_keys(to, x, count);
  } else {
    E padded[key_lanes<S>];
    store_narrowed<E, S>(padded, x);
    for (std::size_t i = 0; i < count; ++i) to[i] = padded[i];
  }
}

/// SortOrder in vectors.
template <class S>
struct VectorOrder {
  Keys<S> turn, sign, infinity;
  bool of_floats;
  explicit VectorOrder(const SortOrder<S>& order)
      : turn(all_of(order.turn)),
        sign(all_of(order.sign)),
        infinity(all_of(order.infinity)),
        of_floats(order.infinity != 0) {}

  /// Floats whose sign is set are turned by all other bits.
  Keys<S> folded(Keys<S> x) const { return x ^ ((x >> (8 * sizeof(S) - 1)) & ~sign); }
  Keys<S> nan(Keys<S> x) const { return (x & ~sign) > infinity; }
  /// Ones where an element does not come back from its key.
  Keys<S> special(Keys<S> x) const { return nan(x) | (x == sign); }
  Keys<S> key(Keys<S> x) const {
    if (!of_floats) return x ^ turn;
    const Keys<S> zero_as_one = x == sign ? Keys<S>{} : x;
    return nan(x) ? all_of(most_of<S>) : folded(zero_as_one) ^ turn;
  }
  Keys<S> element(Keys<S> key) const { return of_floats ? folded(key ^ turn) : key ^ turn; }
};

SORT_INLINE bool any(LongInts x) { return any((Ints)x); }

template <class E, class S>
bool to_keys(const E* x, S* keys, std::size_t n, const SortOrder<S>& order) {
  const VectorOrder<S> by(order);
  constexpr std::size_t width = key_lanes<S>;
  Keys<S> special{};
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    const Keys<S> elements = widened<E, S>(x + i);
    special |= by.special(elements);
    store_keys<S>(keys + i, by.key(elements));
  }
  if (i < n) {
    const Keys<S> elements = widened<E, S>(x + i, n - i);
    special |= by.special(elements);
    store_keys<S>(keys + i, by.key(elements), n - i);
  }
  return order.infinity != 0 && any(special);
}

template <class E, class S>
void from_keys(const S* keys, E* x, std::size_t n, const SortOrder<S>& order) {
  const VectorOrder<S> by(order);
  constexpr std::size_t width = key_lanes<S>;
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    store_narrowed<E, S>(x + i, by.element(load_bits<Keys<S>>(keys + i)));
  }
  if (i < n) store_narrowed<E, S>(x + i, by.element(load_keys(keys + i, n - i)), n - i);
}

template <class E, class Wanted>
std::size_t take(const E* x, std::size_t n, E* to, Wanted wanted) {
  E* next = to;
  for (std::size_t i = 0; i < n; ++i) {
    const E one = x[i];
    *next = one;
    next += wanted(one);
  }
  return static_cast<std::size_t>(next - to);
}
template <class E, class S>
std::size_t take_nans(const E* x, std::size_t n, const SortOrder<S>& order, E* to) {
  return take(x, n, to, [&](S one) { return (one & ~order.sign) > order.infinity; });
}
template <class E, class S>
std::size_t take_zeros(const E* x, std::size_t n, const SortOrder<S>& order, E* to) {
  return take(x, n, to, [&](S one) { return (one & ~order.sign) == 0; });
}

template <class E, class S>
bool in_order(const E* x, std::size_t n, const SortOrder<S>& order) {
  const VectorOrder<S> by(order);
  constexpr std::size_t width = key_lanes<S>;
  const auto falls = [&](std::size_t i) __attribute__((always_inline)) {
    return by.key(widened<E, S>(x + i)) > by.key(widened<E, S>(x + i + 1));
  };
  std::size_t i = 0;
  for (; i + 4 * width < n; i += 4 * width) {
    if (any(falls(i) | falls(i + width) | falls(i + 2 * width) | falls(i + 3 * width)))
      return false;
  }
  S before = 0;
  for (std::size_t first = i; i < n; ++i) {
    S key;
    to_keys(x + i, &key, 1, order);
    if (i > first && key < before) return false;
    before = key;
  }
  return true;
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
