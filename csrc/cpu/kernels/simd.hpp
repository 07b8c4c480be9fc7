#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/table.hpp"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12, in its own header
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/// Vectors of the compiler's own kind, so that arithmetic, comparisons and `mask ? a : b` are plain
/// C++ here and the same for every instruction set. Below is only what these cannot say.
namespace tilewright::cpu::TILEWRIGHT_ISA {

#if defined(__AVX512F__)
constexpr std::size_t lanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 8;
#else
constexpr std::size_t lanes = 4;
#endif

typedef float Floats __attribute__((vector_size(lanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(lanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(lanes * 2)));
typedef double Doubles __attribute__((vector_size(lanes * 4)));  // half as many
typedef std::uint64_t Longs __attribute__((vector_size(lanes * 4)));

static inline Floats splat(float x) { return x - Floats{}; }
static inline Ints to_ints(Floats x) { return __builtin_convertvector(x, Ints); }
static inline Floats to_floats(Ints x) { return __builtin_convertvector(x, Floats); }

static inline Floats abs(Floats x) { return (Floats)((Ints)x & 0x7fffffff); }
/// The magnitude of the first with the sign of the second.
static inline Floats copy_sign(Floats magnitude, Floats sign) {
  return (Floats)(((Ints)magnitude & 0x7fffffff) | ((Ints)sign & INT32_MIN));
}

static inline Floats sqrt(Floats x) {
#if defined(__AVX512F__)
  return (Floats)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (Floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (Floats)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (Floats)vsqrtq_f32((float32x4_t)x);
#else
  for (std::size_t i = 0; i < lanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

/// x * 2^exponent for whole exponents within +-250, rounded once.
static inline Floats scale(Floats x, Floats exponent) {
#if defined(__AVX512F__)
  return (Floats)_mm512_scalef_ps((__m512)x, (__m512)exponent);
#else
  const Ints whole = to_ints(exponent);
  const Ints half = whole >> 1;
  const Floats first = (Floats)((half + 127) << 23);
  const Floats second = (Floats)((whole - half + 127) << 23);
  return x * first * second;
#endif
}

/// The same for all whole exponents, and infinite ones.
static inline Floats scale_by_any(Floats x, Floats exponent) {
#if !defined(__AVX512F__)
  exponent = exponent > 200 ? splat(200) : exponent;
  exponent = exponent < -200 ? splat(-200) : exponent;
#endif
  return scale(x, exponent);
}

/// Whether an element is other than 0.
static inline bool any(Ints x) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256((__m256i)x, (__m256i)x) == 0;
#elif defined(__x86_64__)
  return _mm_movemask_epi8((__m128i)(x == 0)) != 0xffff;
#elif defined(__aarch64__)
  return vmaxvq_u32((uint32x4_t)x) != 0;
#else
  std::int32_t joined = 0;
  for (std::size_t i = 0; i < lanes; ++i) joined |= x[i];
  return joined != 0;
#endif
}

/// The first halves of both, element by element in turn; and the second halves.
static inline Floats interleave_low(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
static inline Floats interleave_high(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

/// Every other element of both, one behind the other, from the first on; and from the second on.
static inline Floats evens(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}
static inline Floats odds(Floats a, Floats b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

// Between float32 and float64: a vector of the one is two of the other.

static inline Doubles widen_low(Floats x) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
#elif defined(__AVX2__)
  return (Doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
#elif defined(__x86_64__)
  return (Doubles)_mm_cvtps_pd((__m128)x);
#else
  return Doubles{x[0], x[1]};
#endif
}

static inline Doubles widen_high(Floats x) {
#if defined(__AVX512F__)
  return (Doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif defined(__AVX2__)
  return (Doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#elif defined(__x86_64__)
  return (Doubles)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
#else
  return Doubles{x[2], x[3]};
#endif
}

static inline Floats narrow(Doubles low, Doubles high) {
#if defined(__AVX512F__)
  return (Floats)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                    _mm512_cvtpd_ps((__m512d)high), 1);
#elif defined(__AVX2__)
  return (Floats)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)low)),
                                      _mm256_cvtpd_ps((__m256d)high), 1);
#elif defined(__x86_64__)
  return (Floats)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)low), _mm_cvtpd_ps((__m128d)high));
#else
  return Floats{(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
#endif
}

// Between float32 and float16, to nearest even.

#if !defined(__F16C__) && !defined(__aarch64__)
static inline Floats widen(Halves bits) {
  const Words x = __builtin_convertvector(bits, Words);
  const Words sign = (x & 0x8000u) << 16;
  const Words magnitude = (x & 0x7fffu) << 13;
  // Read as float32 the exponent is 112 too small; a multiplication mends that for subnormals too.
  const Words scaled = (Words)((Floats)magnitude * 0x1p112f);
  const Words special = (Words)(magnitude >= 0x0f800000u) & 0x7f800000u;
  return (Floats)(sign | scaled | special);
}

static inline Halves narrow(Floats value) {
  const Words x = (Words)value;
  const Words sign = (x >> 16) & 0x8000u;
  const Words magnitude = x & 0x7fffffffu;
  // Normal results: rebias, then round the 13 bits that go.
  const Words normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 leaves 24 - 14 bits below it, rounded by the processor.
  const Words subnormal = (Words)((Floats)magnitude + 0.5f) - 0x3f000000u;
  Words result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? Words{} + 0x7c00u : result;
  result = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x1ffu)) : result;
  return __builtin_convertvector(sign | result, Halves);
}
#endif

// Memory ------------------------------------------------------------------------------------------

template <class Vector>
static inline Vector load_bits(const void* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

static inline Floats load(const float* from) { return load_bits<Floats>(from); }

static inline Floats load(const Half* from) {
#if defined(__AVX512F__)
  return (Floats)_mm512_cvtph_ps((__m256i)load_bits<Halves>(from));
#elif defined(__F16C__)
  return (Floats)_mm256_cvtph_ps((__m128i)load_bits<Halves>(from));
#elif defined(__aarch64__)
  return (Floats)vcvt_f32_f16((float16x4_t)load_bits<Halves>(from));
#else
  return widen(load_bits<Halves>(from));
#endif
}

/// What elements are read into that come from memory and are used once. Of float32 with AVX-512 it
/// is half a vector: two loads of a line bring in the next ones sooner than one does, as measured.
template <class T>
struct Streamed {
  using Vector = Floats;
  using Bits = Ints;
};
#if defined(__AVX512F__)
template <>
struct Streamed<float> {
  typedef float Vector __attribute__((vector_size(32)));
  typedef std::int32_t Bits __attribute__((vector_size(32)));
};
static inline bool any(Streamed<float>::Bits x) {
  return _mm256_test_epi32_mask((__m256i)x, (__m256i)x) != 0;
}
#endif

template <class Vector>
static inline Vector load_as(const float* from) {
  return load_bits<Vector>(from);
}
template <class Vector>
static inline Vector load_as(const Half* from) {
  return load(from);
}

static inline Halves to_halves(Floats x) {
#if defined(__AVX512F__)
  return (Halves)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__F16C__)
  return (Halves)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
  return (Halves)vcvt_f16_f32((float32x4_t)x);
#else
  return narrow(x);
#endif
}

static inline void store(float* to, Floats x) { __builtin_memcpy(to, &x, sizeof x); }
static inline void store(Half* to, Floats x) {
  const Halves bits = to_halves(x);
  __builtin_memcpy(to, &bits, sizeof bits);
}

/// Stores past the caches, to an address aligned to the vector. Ends with stream_fence().
static inline void stream(float* to, Floats x) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)x);
#elif defined(__AVX2__)
  _mm256_stream_ps(to, (__m256)x);
#elif defined(__x86_64__)
  _mm_stream_ps(to, (__m128)x);
#else
  store(to, x);
#endif
}

static inline void stream(Half* to, Floats x) {
#if defined(__AVX512F__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)to_halves(x));
#elif defined(__AVX2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)to_halves(x));
#else
  store(to, x);
#endif
}

static inline void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/// All ones in the first `count` elements.
static inline Ints first_lanes(std::size_t count) {
  return Ints{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<std::int32_t>(count);
}
#endif

/// The first `count` < lanes elements; the others are `fill`.
template <class T>
static inline Floats load(const T* from, std::size_t count, float fill = 0) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  if constexpr (sizeof(T) == 4) {
    return (Floats)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, from);
  } else {
    return (Floats)_mm512_mask_cvtph_ps(_mm512_set1_ps(fill), mask,
                                        _mm256_maskz_loadu_epi16(mask, from));
  }
#else
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const Ints there = first_lanes(count);
    const Floats x = (Floats)_mm256_maskload_ps(from, (__m256i)there);
    return fill == 0 ? x : there ? x : splat(fill);
  }
#endif
  T padded[lanes] = {};
  for (std::size_t i = 0; i < count; ++i) padded[i] = from[i];
  Floats x = load(padded);
  if (fill != 0) {
    for (std::size_t i = count; i < lanes; ++i) x[i] = fill;
  }
  return x;
#endif
}

/// The first `count` < lanes elements.
template <class T>
static inline void store(T* to, Floats x, std::size_t count) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(to, mask, (__m512)x);
  } else {
    _mm256_mask_storeu_epi16(to, mask, (__m256i)to_halves(x));
  }
#else
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    // Masked stores take long on some processors.
    __m128 part = _mm256_castps256_ps128((__m256)x);
    if ((count & 4) != 0) {
      _mm_storeu_ps(to, part);
      part = _mm256_extractf128_ps((__m256)x, 1);
      to += 4;
    }
    if ((count & 2) != 0) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
      part = _mm_movehl_ps(part, part);
      to += 2;
    }
    if ((count & 1) != 0) _mm_store_ss(to, part);
    return;
  }
#endif
  T padded[lanes];
  store(padded, x);
  for (std::size_t i = 0; i < count; ++i) to[i] = padded[i];
#endif
}

/// The same where all `lanes` elements may be wanted, too.
template <class T>
static inline Floats load_up_to(const T* from, std::size_t count) {
  return count == lanes ? load(from) : load(from, count);
}
template <class T>
static inline void store_up_to(T* to, Floats x, std::size_t count) {
  count == lanes ? store(to, x) : store(to, x, count);
}

// Loops -------------------------------------------------------------------------------------------

/// How a value of generate() reads its inputs: the vector at the current position.
struct ReadWhole {
  std::size_t at;
  template <class T>
  Floats operator()(const T* from, float = 0) const {
    return load(from + at);
  }
};

/// The same where fewer than a vector are left; the others are `fill`.
struct ReadPart {
  std::size_t at, count;
  template <class T>
  Floats operator()(const T* from, float fill = 0) const {
    return load(from + at, count, fill);
  }
};

/// How many of n elements come before the first address of output that is aligned to a vector.
template <class T>
static inline std::size_t before_alignment(const T* output, std::size_t n) {
  constexpr std::size_t bytes = lanes * sizeof(T);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(output) % bytes;
  const std::size_t head = past == 0 ? 0 : (bytes - past) / sizeof(T);
  return head < n ? head : n;
}

/// output[0..n) = value(read), vector by vector, where read(pointer) is the input there.
template <class T, class Value>
static inline void generate(T* output, std::size_t n, Store how, Value value) {
  std::size_t i = 0;
  if (how != Store::cached) {
    i = before_alignment(output, n);
    if (i != 0) store(output, value(ReadPart{0, i}), i);
    for (; i + lanes <= n; i += lanes) stream(output + i, value(ReadWhole{i}));
    if (how == Store::streaming) stream_fence();
  } else {
    for (; i + lanes <= n; i += lanes) store(output + i, value(ReadWhole{i}));
  }
  if (i < n) store(output + i, value(ReadPart{i, n - i}), n - i);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
