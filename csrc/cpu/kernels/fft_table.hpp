#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cpu {

/// Distances between lines, in complex numbers, as each of three indices of a line grows by one.
struct FftStrides {
  std::size_t x, y, z;
};

/// The longest prime that a pass of sums is of; what is left of a length is convolved.
inline constexpr std::size_t fft_longest_radix = 97;

/// Transforms of n numbers as a convolution with a chirp.
template <class T>
struct FftConvolution {
  std::size_t n;                ///< 0: of none
  std::size_t longer;           ///< 2 n - 1 or more
  const std::uint8_t* radices;  ///< 2 to 9; two at least, whose product is `longer`
  std::size_t passes;
  const T* chirp;   ///< exp(-pi i j j / n)
  const T* answer;  ///< by what the transform of a row times the chirp is multiplied
  const T* roots;   ///< exp(-2 pi i j / longer)
};

/// Fourier transforms of lines of n complex numbers, the real part of each first. Line (x, y, z) is
/// number (x * ny + y) * nz + z, and `simd_width` lines (half as many in float64) make a block that
/// is transformed at once. Where `across`, blocks are of lines whose numbers follow each other,
/// else each is of one x and y. Nothing but the lines is read or written.
template <class T>
struct FftLines {
  const T* input;
  T* output;
  std::size_t n;
  std::size_t input_step, output_step;  ///< between the numbers of a line
  std::size_t lines, ny, nz;
  FftStrides input_at, output_at;
  bool across;

  FftConvolution<T> convolution;  ///< the first pass
  const std::uint8_t* radices;    ///< of the others; with what is convolved their product is n
  std::size_t passes;
  const T* roots;  ///< each root_step-th is one of exp(-2 pi i j / n)
  std::size_t root_step;
  T scale;
  bool inverse;

  /// Null, or roots by which results are turned: number k of a line by the power k * turn_at of the
  /// first. With a shift of 0 all powers, else the first 2^shift and behind them each 2^shift-th.
  const T* turns;
  unsigned turn_shift;
  FftStrides turn_at;
  /// Null, or what fill_turns() made of them for all blocks of one x and y, the same for others.
  const T* turn_table;
};

/// Rows of n real numbers, and of the first n / 2 + 1 of their transforms.
template <class T>
struct FftRealRows {
  const T* input;
  T* output;
  std::size_t rows, n;
  FftConvolution<T> convolution;  ///< the first pass
  const std::uint8_t* radices;    ///< of the others; their product is n / 2, or n where that is odd
  std::size_t passes;
  const T* roots;  ///< exp(-2 pi i j / n)
  T scale;
  bool inverse;
};

template <class T>
struct FftKernels {
  /// The blocks [begin, end); scratch is fft_scratch() of T, aligned to 64 bytes.
  void (*transform)(const FftLines<T>& lines, std::size_t begin, std::size_t end, T* scratch);
  /// What block `block` is turned by: 2 * n * width elements, aligned to 64 bytes.
  void (*fill_turns)(const FftLines<T>& lines, std::size_t block, T* table);

  /// Blocks of `simd_width` rows, as transform() has them; scratch is fft_real_scratch().
  void (*transform_real)(const FftRealRows<T>& rows, std::size_t begin, std::size_t end,
                         T* scratch);
  /// Of one row of 2h real numbers: what the transform of h complex ones, each two of them, comes
  /// to as the first h + 1 of theirs, and the way back. roots are exp(-2 pi i j / 2h).
  void (*unpack_row)(const T* from, std::size_t h, const T* roots, T scale, T* to);
  void (*pack_row)(const T* from, std::size_t h, const T* roots, T* to);
  /// The n numbers, which are odd many, of the first half of a real row's transform.
  void (*mirror_row)(const T* from, std::size_t n, T* to);

  /// n complex numbers times as many; of the conjugates of x, and to those of the products, where
  /// that is asked. `to` may be x.
  void (*multiply_row)(const T* x, const T* by, std::size_t n, bool of_conjugates,
                       bool to_conjugates, T* to);
};

/// The power of two by which turns of a line are tabled in two parts.
constexpr unsigned fft_turn_bits(std::size_t n) {
  unsigned bits = 0;
  while ((std::size_t{1} << bits << bits) < n) ++bits;
  return bits;
}

/// Elements of T that a block works in: two lines, two convolved ones of `longer` numbers, and the
/// two parts of its turns.
constexpr std::size_t fft_scratch(std::size_t n, std::size_t longer, std::size_t width) {
  const unsigned bits = fft_turn_bits(n);
  return 2 * width * (2 * n + 2 * longer + (std::size_t{1} << bits) + (n >> bits) + 1);
}

constexpr std::size_t fft_real_scratch(std::size_t n, std::size_t longer, std::size_t width) {
  return 4 * width * ((n % 2 == 0 ? n / 2 : n) + 1 + longer);
}

}  // namespace tilewright::cpu
