#pragma once

#include "cpu/kernels/placed.hpp"
#include "cpu/kernels/program_functions.hpp"
#include "cpu/kernels/program_table.hpp"

// Loops of programs for float32 beside those of program.inc: rows that are read where they lie,
// comparisons and choices.
namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Rows of n elements; of an operand in `ones` each row has one element for all.
template <class Formula, unsigned ones>
static void rows_loop(const RowsOperand* operands, const RowsResult& result, std::size_t rows,
                      std::size_t n, Store how) {
  constexpr bool third = Formula::count > 2;
  const RowsOperand &a = operands[0], &b = operands[1], &c = operands[third ? 2 : 0];
  const float *x = a.data, *y = b.data, *z = c.data;
  float* to = result.data;
  for (std::size_t row = 0; row < rows; ++row) {
    const Floats one_x = splat(*x), one_y = splat(*y), one_z = splat(*z);
    const auto value = [=](auto read) {
      const Floats first = (ones & 1) != 0 ? one_x : read(x);
      const Floats second = (ones & 2) != 0 ? one_y : read(y);
      if constexpr (third) return Formula::of(first, second, (ones & 4) != 0 ? one_z : read(z));
      return Formula::of(first, second, first);
    };
    generate(to, n, how, value);
    x += a.step;
    y += b.step;
    z += c.step;
    to += result.step;
  }
}

#if defined(TILEWRIGHT_HAS_PLACED)
/// Short rows that lie one behind the other: they are walked as one, and to each element goes what
/// its own row has.
template <std::size_t count>
static void stages_of_short_rows(const float* x, const RowsStage* stages, float* to,
                                 std::size_t rows, std::size_t n) {
  const RowPlaces places(n);
  for (std::size_t row = 0; row < rows; row += lanes, x += lanes * n, to += lanes * n) {
    const std::size_t now = rows - row < lanes ? rows - row : lanes;
    Floats factors[count], addends[count];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      factors[i] = load_up_to(stages[i].factors + row, now);
      addends[i] = load_up_to(stages[i].addends + row, now);
    }
    const auto value_of = [=](std::size_t vector, Floats value) {
      const Ints place = places.of(vector);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < count; ++i) {
        value = value * placed(factors[i], place) + placed(addends[i], place);
      }
      return value;
    };
    const std::size_t whole = now * n / lanes, rest = now * n - whole * lanes;
    for (std::size_t v = 0; v < whole; ++v) {
      store(to + v * lanes, value_of(v, load(x + v * lanes)));
    }
    if (rest == 0) continue;
    store(to + whole * lanes, value_of(whole, load(x + whole * lanes, rest)), rest);
  }
}
#endif

template <std::size_t count>
static void stages_of_rows(const RowsOperand& operand, const RowsStage* stages,
                           const RowsResult& result, std::size_t rows, std::size_t n) {
  const float* x = operand.data;
  float* to = result.data;
#if defined(TILEWRIGHT_HAS_PLACED)
  const auto length = static_cast<std::ptrdiff_t>(n);
  if (n < 4 * lanes && n % lanes != 0 && rows > 1 && operand.step == length &&
      result.step == length) {
    return stages_of_short_rows<count>(x, stages, to, rows, n);
  }
#endif
  for (std::size_t row = 0; row < rows; ++row, x += operand.step, to += result.step) {
    Floats factors[count], addends[count];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      factors[i] = splat(stages[i].factors[row]);
      addends[i] = Floats{} + stages[i].addends[row];
    }
    generate(to, n, Store::cached, [&](auto read) {
      Floats value = read(x);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < count; ++i) value = value * factors[i] + addends[i];
      return value;
    });
  }
}
static void run_stages(const RowsOperand& x, const RowsStage* stages, std::size_t count,
                       const RowsResult& result, std::size_t rows, std::size_t n) {
  switch (count) {
    case 1:
      return stages_of_rows<1>(x, stages, result, rows, n);
    case 2:
      return stages_of_rows<2>(x, stages, result, rows, n);
    case 3:
      return stages_of_rows<3>(x, stages, result, rows, n);
    default:
      return stages_of_rows<4>(x, stages, result, rows, n);
  }
}

typedef std::uint8_t Bytes __attribute__((vector_size(lanes)));

// GCC makes single elements of conversions between bytes and 32 bits.

/// 1 for each element that is all ones, and 0 for those that are 0.
static inline Bytes to_bytes(Ints mask) {
#if defined(__AVX512F__)
  const __mmask16 bits = _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
  return (Bytes)_mm_maskz_set1_epi8(bits, 1);
#elif defined(__AVX2__)
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)mask),
                                        _mm256_extracti128_si256((__m256i)mask, 1));
  const __m128i all = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
  return load_bits<Bytes>(&all);
#else
  return __builtin_convertvector(mask, Bytes) & 1;
#endif
}

/// All ones for each byte that is not 0.
static inline Ints to_mask(Bytes x) {
#if defined(__AVX512F__)
  return (Ints)_mm512_movm_epi32(_mm_test_epi8_mask((__m128i)x, (__m128i)x));
#elif defined(__AVX2__)
  __m128i all = _mm_setzero_si128();
  __builtin_memcpy(&all, &x, sizeof x);
  return (Ints)_mm256_cvtepu8_epi32(all) != 0;
#else
  return __builtin_convertvector(x, Ints) != 0;
#endif
}

template <class Formula>
static void compare_loop(const void* a, const void* b, const void*, void* result, std::size_t n) {
  const float* x = static_cast<const float*>(a);
  const float* y = static_cast<const float*>(b);
  Bool* to = static_cast<Bool*>(result);
  const auto bytes = [=](auto read) {
    const Floats first = read(x);
    return to_bytes(Formula::of(first, read(y), first));
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Bytes all = bytes(ReadWhole{i});
    __builtin_memcpy(to + i, &all, sizeof all);
  }
  if (i == n) return;
  const Bytes rest = bytes(ReadPart{i, n - i});
  for (std::size_t j = 0; j < n - i; ++j) to[i + j] = rest[j];
}

static void choose_loop(const void* a, const void* b, const void* c, void* result, std::size_t n) {
  const Bool* condition = static_cast<const Bool*>(a);
  const float* x = static_cast<const float*>(b);
  const float* y = static_cast<const float*>(c);
  float* to = static_cast<float*>(result);
  const auto chosen = [](Bytes which, Floats first, Floats second) {
    return to_mask(which) != 0 ? first : second;
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    store(to + i, chosen(load_bits<Bytes>(condition + i), load(x + i), load(y + i)));
  }
  if (i == n) return;
  Bytes rest{};
  for (std::size_t j = 0; j < n - i; ++j) rest[j] = condition[i + j];
  store(to + i, chosen(rest, load(x + i, n - i), load(y + i, n - i)), n - i);
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
