#pragma once

#include "cpu/kernels/simd.hpp"

/// Vectors of keys, and what sorting networks and partitions do with them.
namespace tilewright::cpu::TILEWRIGHT_ISA {

#define SORT_INLINE static inline __attribute__((always_inline))

typedef std::int64_t LongInts __attribute__((vector_size(lanes * 4)));

template <class S>
struct KeyVector {
  using Type = Ints;
};
template <>
struct KeyVector<std::int64_t> {
  using Type = LongInts;
};
template <class S>
using Keys = typename KeyVector<S>::Type;
template <class S>
constexpr std::size_t key_lanes = sizeof(Keys<S>) / sizeof(S);

template <class S>
constexpr S most_of = static_cast<S>(~(std::uint64_t{1} << (8 * sizeof(S) - 1)));
template <class S>
constexpr S least_of = static_cast<S>(-most_of<S> - 1);

template <class S>
SORT_INLINE Keys<S> all_of(S x) {
  return x - Keys<S>{};
}

SORT_INLINE Ints lesser(Ints a, Ints b) {
#if defined(__AVX512F__)
  return (Ints)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Ints)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
  return a < b ? a : b;
#endif
}
SORT_INLINE Ints greater(Ints a, Ints b) {
#if defined(__AVX512F__)
  return (Ints)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (Ints)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  return a < b ? b : a;
#endif
}
SORT_INLINE LongInts lesser(LongInts a, LongInts b) {
#if defined(__AVX512F__)
  return (LongInts)_mm512_min_epi64((__m512i)a, (__m512i)b);
#else
  return a < b ? a : b;
#endif
}
SORT_INLINE LongInts greater(LongInts a, LongInts b) {
#if defined(__AVX512F__)
  return (LongInts)_mm512_max_epi64((__m512i)a, (__m512i)b);
#else
  return a < b ? b : a;
#endif
}

template <class V>
SORT_INLINE void exchange(V& a, V& b) {
  const V low = lesser(a, b);
  b = greater(a, b);
  a = low;
}

/// The numbers below n, as arguments.
template <std::size_t... i>
struct Numbers {};
#if defined(__clang__)
template <class, std::size_t... i>
using NumbersOf = Numbers<i...>;
template <std::size_t n>
using numbers_below = __make_integer_seq<NumbersOf, std::size_t, n>;
#else
template <std::size_t n>
using numbers_below = Numbers<__integer_pack(n)...>;
#endif

/// Calls body(Number<i>) for all i below n.
template <std::size_t i>
struct Number {
  static constexpr std::size_t value = i;
};
template <class Body, std::size_t... i>
SORT_INLINE void for_numbers(Numbers<i...>, [[maybe_unused]] Body body) {
  (body(Number<i>()), ...);
}
template <std::size_t n, class Body>
SORT_INLINE void for_each_below(Body body) {
  for_numbers(numbers_below<n>(), body);
}

/// Lane i of the result is lane i ^ turn.
template <std::size_t turn, class V, std::size_t... i>
SORT_INLINE V turned_by(V x, Numbers<i...>) {
  return __builtin_shufflevector(x, x, (i ^ turn)...);
}
template <std::size_t turn, class V>
SORT_INLINE V turned(V x) {
  return turned_by<turn>(x, numbers_below<sizeof(V) / sizeof(x[0])>());
}

/// `a` in lanes whose number lacks `bit`, `b` in the others.
template <std::size_t bit, class V, std::size_t... i>
SORT_INLINE V joined_by(V a, V b, Numbers<i...>) {
  return __builtin_shufflevector(a, b, (i & bit ? sizeof...(i) + i : i)...);
}
template <std::size_t bit, class V>
SORT_INLINE V joined(V a, V b) {
  return joined_by<bit>(a, b, numbers_below<sizeof(V) / sizeof(a[0])>());
}

/// The lesser of both in lanes whose number lacks `bit`, the greater in the others.
template <std::size_t bit, class V>
SORT_INLINE V ordered(V a, V b) {
  return joined<bit>(lesser(a, b), greater(a, b));
}

// Memory ------------------------------------------------------------------------------------------

#if defined(__AVX2__) && !defined(__AVX512F__)
SORT_INLINE Ints lane_numbers(std::int32_t) { return Ints{0, 1, 2, 3, 4, 5, 6, 7}; }
SORT_INLINE LongInts lane_numbers(std::int64_t) { return LongInts{0, 1, 2, 3}; }
#endif

/// The first `count` < key_lanes keys; the others are the largest.
template <class S>
SORT_INLINE Keys<S> load_keys(const S* from, std::size_t count) {
#if defined(__AVX512F__)
  const __m512i fill = (__m512i)all_of<S>(most_of<S>);
  if constexpr (sizeof(S) == 4) {
    return (Keys<S>)_mm512_mask_loadu_epi32(fill, static_cast<__mmask16>((1u << count) - 1), from);
  } else {
    return (Keys<S>)_mm512_mask_loadu_epi64(fill, static_cast<__mmask8>((1u << count) - 1), from);
  }
#elif defined(__AVX2__)
  const Keys<S> there = lane_numbers(S{}) < all_of(static_cast<S>(count));
  Keys<S> x;
  if constexpr (sizeof(S) == 4) {
    x = (Keys<S>)_mm256_maskload_epi32(from, (__m256i)there);
  } else {
    x = (Keys<S>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(from), (__m256i)there);
  }
  return there ? x : all_of(most_of<S>);
#else
  S padded[key_lanes<S>];
  for (std::size_t i = 0; i < key_lanes<S>; ++i) padded[i] = i < count ? from[i] : most_of<S>;
  return load_bits<Keys<S>>(padded);
#endif
}

template <class S>
SORT_INLINE void store_keys(S* to, Keys<S> x) {
  __builtin_memcpy(to, &x, sizeof x);
}

/// The first `count` < key_lanes keys.
template <class S>
SORT_INLINE void store_keys(S* to, Keys<S> x, std::size_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(S) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1), (__m512i)x);
  } else {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << count) - 1), (__m512i)x);
  }
#else
  S padded[key_lanes<S>];
  store_keys(padded, x);
  for (std::size_t i = 0; i < count; ++i) to[i] = padded[i];
#endif
}

// Partitions --------------------------------------------------------------------------------------

#if defined(__AVX2__)

/// A bit for each lane.
using LaneBits = std::uint32_t;

SORT_INLINE LaneBits lanes_above(Ints x, Ints than) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epi32_mask((__m512i)x, (__m512i)than);
#else
  return static_cast<LaneBits>(_mm256_movemask_ps((__m256)(x > than)));
#endif
}
SORT_INLINE LaneBits lanes_above(LongInts x, LongInts than) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epi64_mask((__m512i)x, (__m512i)than);
#else
  return static_cast<LaneBits>(_mm256_movemask_pd((__m256d)(x > than)));
#endif
}

#if !defined(__AVX512F__)
/// For each set of lanes of a vector of eight words, or four of two words: where its words are, and
/// then some.
template <std::size_t of_lanes>
struct Compressions {
  std::uint64_t words[std::size_t{1} << of_lanes] = {};
  constexpr Compressions() {
    constexpr std::size_t each = 8 / of_lanes;
    for (std::size_t set = 0; set < std::size_t{1} << of_lanes; ++set) {
      std::size_t at = 0;
      for (std::size_t lane = 0; lane < of_lanes; ++lane) {
        if ((set >> lane & 1) == 0) continue;
        for (std::size_t word = 0; word < each; ++word, ++at) {
          words[set] |= static_cast<std::uint64_t>(lane * each + word) << (8 * at);
        }
      }
    }
  }
};
template <std::size_t of_lanes>
constexpr Compressions<of_lanes> compressions{};
#endif

/// The lanes of a set, side by side from the first on; what follows them means nothing.
template <class V>
SORT_INLINE V compressed(V x, LaneBits set) {
  constexpr std::size_t count = sizeof(V) / sizeof(x[0]);
#if defined(__AVX512F__)
  if constexpr (count == 16) {
    return (V)_mm512_maskz_compress_epi32(static_cast<__mmask16>(set), (__m512i)x);
  } else {
    return (V)_mm512_maskz_compress_epi64(static_cast<__mmask8>(set), (__m512i)x);
  }
#else
  const __m256i places = _mm256_cvtepu8_epi32(
      _mm_cvtsi64_si128(static_cast<long long>(compressions<count>.words[set])));
  return (V)_mm256_permutevar8x32_epi32((__m256i)x, places);
#endif
}

/// KeySorts::partition.
template <class S>
std::size_t partition_keys(const S* from, std::size_t n, S pivot, S* lows, S* highs) {
  constexpr std::size_t width = key_lanes<S>, unroll = 4;
  constexpr LaneBits every = (LaneBits{1} << width) - 1;
  const Keys<S> than = all_of(pivot);
  S* low = lows;
  const auto place = [&](Keys<S> x, std::size_t at) __attribute__((always_inline)) {
    const LaneBits above = lanes_above(x, than);
    const std::size_t before = static_cast<std::size_t>(low - lows);
    store_keys<S>(highs + (at - before), compressed(x, above));
    store_keys<S>(low, compressed(x, ~above & every));
    low += width - static_cast<std::size_t>(__builtin_popcount(above));
  };
  std::size_t i = 0;
  for (; i + unroll * width <= n; i += unroll * width) {
    Keys<S> x[unroll];
    for (std::size_t u = 0; u < unroll; ++u) x[u] = load_bits<Keys<S>>(from + i + u * width);
    for (std::size_t u = 0; u < unroll; ++u) place(x[u], i + u * width);
  }
  for (; i + width <= n; i += width) place(load_bits<Keys<S>>(from + i), i);
  if (i < n) {
    const Keys<S> x = load_keys(from + i, n - i);
    const LaneBits there = (LaneBits{1} << (n - i)) - 1, above = lanes_above(x, than) & there;
    const auto count = static_cast<std::size_t>(__builtin_popcount(above));
    store_keys<S>(highs + (i - static_cast<std::size_t>(low - lows)), compressed(x, above), count);
    store_keys<S>(low, compressed(x, ~above & there), n - i - count);
    low += n - i - count;
  }
  return static_cast<std::size_t>(low - lows);
}

#else

template <class S>
std::size_t partition_keys(const S* from, std::size_t n, S pivot, S* lows, S* highs) {
  S* low = lows;
  S* high = highs;
  for (std::size_t i = 0; i < n; ++i) {
    const S x = from[i];
    const bool above = x > pivot;
    *high = x;
    *low = x;
    high += above;
    low += !above;
  }
  return static_cast<std::size_t>(low - lows);
}

#endif

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
