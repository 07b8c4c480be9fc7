#pragma once

#include "cpu/kernels/simd.hpp"

// Rows and columns of float32, joined.
namespace tilewright::cpu::TILEWRIGHT_ISA {

struct JoinSum {
  static constexpr float nothing = 0;
  static constexpr bool loses_nan = false;
  template <class Vector>
  static inline Vector of(Vector a, Vector b) {
    return a + b;
  }
};
struct JoinProduct {
  static constexpr float nothing = 1;
  static constexpr bool loses_nan = false;
  template <class Vector>
  static inline Vector of(Vector a, Vector b) {
    return a * b;
  }
};
/// NaN spreads.
struct JoinLargest {
  static constexpr float nothing = -__builtin_inff();
  static constexpr bool loses_nan = true;
  /// Where no element is NaN.
  template <class Vector>
  static inline Vector of_numbers(Vector a, Vector b) {
    return a > b ? a : b;
  }
  template <class Vector>
  static inline Vector of(Vector a, Vector b) {
    const Vector larger = a > b ? a : b;
    return a == a ? larger : a;
  }
};
struct JoinSmallest {
  static constexpr float nothing = __builtin_inff();
  static constexpr bool loses_nan = true;
  template <class Vector>
  static inline Vector of_numbers(Vector a, Vector b) {
    return a < b ? a : b;
  }
  template <class Vector>
  static inline Vector of(Vector a, Vector b) {
    const Vector smaller = a < b ? a : b;
    return a == a ? smaller : a;
  }
};

/// The elements of four vectors, joined: their halves until four are left of each, and those of
/// all four side by side.
template <class Join>
static inline void join_four(const Floats (&x)[4], float* to) {
  typedef float Four __attribute__((vector_size(16)));
  Four of[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
#if defined(__AVX512F__)
    typedef float Eight __attribute__((vector_size(32)));
    const Eight half = Join::of(__builtin_shufflevector(x[i], x[i], 0, 1, 2, 3, 4, 5, 6, 7),
                                __builtin_shufflevector(x[i], x[i], 8, 9, 10, 11, 12, 13, 14, 15));
    of[i] = Join::of(__builtin_shufflevector(half, half, 0, 1, 2, 3),
                     __builtin_shufflevector(half, half, 4, 5, 6, 7));
#elif defined(__AVX2__)
    of[i] = Join::of(__builtin_shufflevector(x[i], x[i], 0, 1, 2, 3),
                     __builtin_shufflevector(x[i], x[i], 4, 5, 6, 7));
#else
    of[i] = x[i];
#endif
  }
  const Four a = Join::of(__builtin_shufflevector(of[0], of[1], 0, 4, 1, 5),
                          __builtin_shufflevector(of[0], of[1], 2, 6, 3, 7));
  const Four b = Join::of(__builtin_shufflevector(of[2], of[3], 0, 4, 1, 5),
                          __builtin_shufflevector(of[2], of[3], 2, 6, 3, 7));
  const Four all = Join::of(__builtin_shufflevector(a, b, 0, 1, 4, 5),
                            __builtin_shufflevector(a, b, 2, 3, 6, 7));
  __builtin_memcpy(to, &all, sizeof all);
}

/// Whether any of the vectors that were seen, two by two, has NaN.
class NanSeen {
 public:
  inline void see(Floats a, Floats b) {
#if defined(__AVX512F__)
    lanes_ |= _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
#elif defined(__AVX2__)
    lanes_ |= (Ints)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
#else
    lanes_ |= (a != a) | (b != b);
#endif
  }
  inline bool any_lane() const {
#if defined(__AVX512F__)
    return lanes_ != 0;
#else
    return any(lanes_);
#endif
  }

  /// NaN where it was seen.
  inline Floats marked(Floats x) const {
    const Floats nan = splat(__builtin_nanf(""));
#if defined(__AVX512F__)
    return (Floats)_mm512_mask_blend_ps(lanes_, (__m512)x, (__m512)nan);
#else
    return lanes_ != 0 ? nan : x;
#endif
  }

 private:
#if defined(__AVX512F__)
  __mmask16 lanes_ = 0;
#else
  Ints lanes_{};
#endif
};

/// Of rows that are long enough: with NaN looked for beside.
template <class Join>
static inline Floats join_numbers(const float* x, std::size_t n) {
  Floats a = load(x), b = load(x + lanes), c = a, d = b;
  NanSeen seen;
  seen.see(a, b);
  std::size_t i = 2 * lanes;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const Floats p = load(x + i), q = load(x + i + lanes);
    const Floats r = load(x + i + 2 * lanes), s = load(x + i + 3 * lanes);
    seen.see(p, q);
    seen.see(r, s);
    a = Join::of_numbers(p, a);
    b = Join::of_numbers(q, b);
    c = Join::of_numbers(r, c);
    d = Join::of_numbers(s, d);
  }
  for (; i + lanes <= n; i += lanes) {
    const Floats p = load(x + i);
    seen.see(p, p);
    a = Join::of_numbers(p, a);
  }
  // An element may be looked at twice.
  const Floats last = load(x + n - lanes);
  seen.see(last, last);
  const Floats all = Join::of_numbers(Join::of_numbers(a, b), Join::of_numbers(c, d));
  return seen.any_lane() ? splat(__builtin_nanf("")) : Join::of_numbers(last, all);
}

/// The elements of a row, lane by lane, in runs so that errors of sums do not grow with n.
template <class Join>
static inline Floats join_lanes(const float* x, std::size_t n) {
  if (n < lanes) return load(x, n, Join::nothing);
  if constexpr (Join::loses_nan) {
    if (n >= 2 * lanes) return join_numbers<Join>(x, n);
  }
  constexpr std::size_t step = 4 * lanes, run = 16 * step;
  const Floats nothing = splat(Join::nothing);
  Floats all = nothing;
  std::size_t i = 0;
  while (i + step <= n) {
    const std::size_t end = i + run < n ? i + run : n;
    Floats a = load(x + i), b = load(x + i + lanes);
    Floats c = load(x + i + 2 * lanes), d = load(x + i + 3 * lanes);
    for (i += step; i + step <= end; i += step) {
      a = Join::of(a, load(x + i));
      b = Join::of(b, load(x + i + lanes));
      c = Join::of(c, load(x + i + 2 * lanes));
      d = Join::of(d, load(x + i + 3 * lanes));
    }
    all = Join::of(all, Join::of(Join::of(a, b), Join::of(c, d)));
  }
  Floats rest = nothing;
  for (; i + lanes <= n; i += lanes) rest = Join::of(rest, load(x + i));
  if (i < n) rest = Join::of(rest, load(x + i, n - i, Join::nothing));
  return Join::of(all, rest);
}

template <class Join>
static void fold_rows(const float* x, std::size_t rows, std::size_t n, std::size_t stride,
                      float* to) {
  if (n == 1) {
    for (std::size_t i = 0; i < rows; ++i) to[i] = x[i * stride];
    return;
  }
  std::size_t i = 0;
  if (n == 2 && stride == 2) {
    for (; i + lanes <= rows; i += lanes, x += 2 * lanes) {
      const Floats first = load(x), second = load(x + lanes);
      store(to + i, Join::of(evens(first, second), odds(first, second)));
    }
  }
  for (; i + 4 <= rows; i += 4, x += 4 * stride) {
    const Floats four[4] = {join_lanes<Join>(x, n), join_lanes<Join>(x + stride, n),
                            join_lanes<Join>(x + 2 * stride, n),
                            join_lanes<Join>(x + 3 * stride, n)};
    join_four<Join>(four, to + i);
  }
  for (; i < rows; ++i, x += stride) {
    const Floats one = join_lanes<Join>(x, n);
    float joined[4];
    join_four<Join>({one, one, one, one}, joined);
    to[i] = joined[0];
  }
}

template <class Join>
static void fold_columns(const float* start, const float* x, std::size_t rows, std::size_t stride,
                         std::size_t width, float* into) {
  // So many columns at a time that what they come to stays in registers.
  const auto walk = [=]<std::size_t vectors>(std::size_t j, auto read, const auto& write) {
    Floats all[vectors];
    // NaN is looked for beside, which takes one comparison of two vectors.
    [[maybe_unused]] NanSeen seen[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      all[v] = read(start + j + v * lanes);
      if constexpr (Join::loses_nan) seen[v].see(all[v], all[v]);
    }
    const auto join = [](Floats a, Floats b) {
      if constexpr (Join::loses_nan) return Join::of_numbers(a, b);
      return Join::of(a, b);
    };
    const auto two = [&](std::size_t v, Floats a, Floats b) {
      if constexpr (Join::loses_nan) seen[v].see(a, b);
      return join(a, b);
    };
    const float* row = x + j;
    std::size_t i = 0;
    for (; i + 4 <= rows; i += 4, row += 4 * stride) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        const float* const at = row + v * lanes;
        const Floats first = two(v, read(at), read(at + stride));
        const Floats second = two(v, read(at + 2 * stride), read(at + 3 * stride));
        all[v] = join(all[v], join(first, second));
      }
    }
    for (; i < rows; ++i, row += stride) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        const Floats one = read(row + v * lanes);
        if constexpr (Join::loses_nan) seen[v].see(one, one);
        all[v] = join(all[v], one);
      }
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      if constexpr (Join::loses_nan) all[v] = seen[v].marked(all[v]);
      write(into + j + v * lanes, all[v]);
    }
  };
  const auto whole = [](float* to, Floats all) { store(to, all); };
  std::size_t j = 0;
  for (; j + 4 * lanes <= width; j += 4 * lanes) {
    walk.template operator()<4>(j, ReadWhole{0}, whole);
  }
  for (; j + lanes <= width; j += lanes) walk.template operator()<1>(j, ReadWhole{0}, whole);
  if (j < width) {
    const std::size_t rest = width - j;
    walk.template operator()<1>(j, ReadPart{0, rest},
                                [=](float* to, Floats all) { store(to, all, rest); });
  }
}

template <class Join>
static void fold_units(const float* x, std::size_t units, std::size_t rows, std::size_t width,
                       float* to) {
  for (; units > 0; --units, x += rows * width, to += width) {
    fold_columns<Join>(x, x + width, rows - 1, width, width, to);
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
