#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

/// Sizes, strides, leading dimensions and offsets. Signed, so that a negative one can be refused by
/// name instead of turning into a huge one. In elements, unless a name says bytes.
using Size = std::int64_t;

/// A buffer of one backend: opaque, non-zero, never reused in this process.
enum class Buffer : std::uint64_t { null = 0 };

/// A compiled kernel of one backend: opaque, non-zero, never reused in this process.
enum class Kernel : std::uint64_t { null = 0 };

/// How elements are stored. Arithmetic on float16 and bfloat16 is done in float32. What takes only
/// some of them says which.
enum class DType : std::uint8_t {
  float32,
  float16,
  int32,
  boolean,  ///< "bool": a byte, 0 or 1
  int8,
  int16,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  bfloat16,
  float64,
};

enum class Transpose : std::uint8_t { none, transpose, conj_transpose };

/// What the inputs of a mixed-precision product are rounded to; `high` rounds to no dtype, but lets
/// matrix units take float32 as sums of float16 (gemm_mixed_precision()).
enum class Precision : std::uint8_t { float16, bfloat16, high };

/// Which elements rope() turns together: the first half with the second, or neighbours.
enum class RopePairing : std::uint8_t { halves, neighbours };

enum class UnaryOp : std::uint8_t {
  relu,
  sigmoid,
  tanh,
  exp,
  log,
  sqrt,
  abs,
  neg,
  silu,       ///< x * sigmoid(x)
  gelu,       ///< x * (1 + erf(x / sqrt(2))) / 2
  gelu_tanh,  ///< the tanh approximation of gelu
  rsqrt,
  reciprocal,
  square,
};

enum class BinaryOp : std::uint8_t { add, sub, mul, div, max, min, pow };

enum class ReduceOp : std::uint8_t { sum, max, min, mean };

/// What map_reduce() makes of the elements. any and all take what is not 0 for true; argmax and
/// argmin give the place of the first one of them; moments gives two values, the mean and the sum
/// of the squares of what elements are off it.
enum class Reduction : std::uint8_t { sum, prod, max, min, any, all, argmax, argmin, moments };

/// What scan() makes of the elements up to each.
enum class ScanOp : std::uint8_t { sum, prod, max, min };

/// What pool() makes of the elements of a window. mean_padded counts the padding's places as well,
/// which hold 0.
enum class PoolOp : std::uint8_t { max, mean, mean_padded };

/// What conv2d_forward() makes of its sums and bias. relu6 is clipped to 0 to 6, leaky_relu is x
/// where it is positive and slope * x elsewhere, hardswish is x * relu6(x + 3) / 6; the others are
/// those of UnaryOp.
enum class Activation : std::uint8_t {
  none,
  relu,
  relu6,
  leaky_relu,
  hardswish,
  sigmoid,
  tanh,
  silu,
  gelu,
  gelu_tanh,
};

/// Which elements around a place grid_sample() takes, and what it finds outside of the input: 0,
/// the nearest element, or the elements as in mirrors at the edges.
enum class SampleMode : std::uint8_t { bilinear, nearest, bicubic };
enum class SamplePadding : std::uint8_t { zeros, border, reflection };

/// How weights are stored in blocks: tilewright/quantized.hpp says how each lies in memory.
enum class QuantFormat : std::uint8_t {
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  mxfp4,
};

/// What a step of a recurrent layer computes: Backend::recurrent says how.
enum class RecurrentCell : std::uint8_t { rnn_tanh, rnn_relu, lstm, gru, gru_reset_before };

using Pair = std::array<Size, 2>;
using Shape4 = std::array<Size, 4>;

/// The most dimensions a shape may have, as in NumPy.
inline constexpr std::size_t max_rank = 64;

/// Elements of a mask that Backend::mask_counts counts together.
inline constexpr Size mask_block = 4096;
/// Elements of uint32 that it writes for a mask of n.
constexpr Size mask_counts_size(Size n) { return n / mask_block + (n % mask_block != 0) + 1; }

/// The step between the second ones of the turns of Backend::fft, of transforms that are n long in
/// all: the least power of two whose square is not below n.
constexpr Size fft_turn_step(Size n) {
  Size step = 1;
  while (step < n / step || (step == n / step && step * step < n)) step *= 2;
  return step;
}
/// How many complex numbers those turns are.
constexpr Size fft_turns_size(Size n) {
  return fft_turn_step(n) + (n + fft_turn_step(n) - 1) / fft_turn_step(n);
}

/// The bytes of an element.
constexpr std::size_t size_of(DType dtype) {
  // A digit for each dtype, from the last on.
  constexpr std::uint64_t bytes = 0x8284218211424;
  return (bytes >> (4 * (static_cast<unsigned>(dtype) & 15))) & 15;
}

/// The names of an enum's values, in their order: what Python and messages call them.
template <class Enum>
struct EnumNames;

template <>
struct EnumNames<DType> {
  static constexpr std::string_view kind = "dtype";
  static constexpr std::array<std::string_view, 13> values{
      "float32", "float16", "int32",  "bool",   "int8",     "int16",  "int64",
      "uint8",   "uint16",  "uint32", "uint64", "bfloat16", "float64"};
};

template <>
struct EnumNames<Transpose> {
  static constexpr std::string_view kind = "transpose";
  static constexpr std::array<std::string_view, 3> values{"none", "transpose", "conj_transpose"};
};

template <>
struct EnumNames<Precision> {
  static constexpr std::string_view kind = "precision";
  static constexpr std::array<std::string_view, 3> values{"float16", "bfloat16", "high"};
};

template <>
struct EnumNames<RopePairing> {
  static constexpr std::string_view kind = "pairing";
  static constexpr std::array<std::string_view, 2> values{"halves", "neighbours"};
};

template <>
struct EnumNames<UnaryOp> {
  static constexpr std::string_view kind = "unary op";
  static constexpr std::array<std::string_view, 14> values{
      "relu", "sigmoid", "tanh", "exp",       "log",   "sqrt",       "abs",
      "neg",  "silu",    "gelu", "gelu_tanh", "rsqrt", "reciprocal", "square"};
};

template <>
struct EnumNames<BinaryOp> {
  static constexpr std::string_view kind = "binary op";
  static constexpr std::array<std::string_view, 7> values{"add", "sub", "mul", "div",
                                                          "max", "min", "pow"};
};

template <>
struct EnumNames<ReduceOp> {
  static constexpr std::string_view kind = "reduce op";
  static constexpr std::array<std::string_view, 4> values{"sum", "max", "min", "mean"};
};

template <>
struct EnumNames<Reduction> {
  static constexpr std::string_view kind = "reduction";
  static constexpr std::array<std::string_view, 9> values{
      "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "moments"};
};

template <>
struct EnumNames<ScanOp> {
  static constexpr std::string_view kind = "scan op";
  static constexpr std::array<std::string_view, 4> values{"sum", "prod", "max", "min"};
};

template <>
struct EnumNames<PoolOp> {
  static constexpr std::string_view kind = "pool op";
  static constexpr std::array<std::string_view, 3> values{"max", "mean", "mean_padded"};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::string_view kind = "activation";
  static constexpr std::array<std::string_view, 10> values{
      "none",    "relu", "relu6", "leaky_relu", "hardswish",
      "sigmoid", "tanh", "silu",  "gelu",       "gelu_tanh"};
};

template <>
struct EnumNames<SampleMode> {
  static constexpr std::string_view kind = "sample mode";
  static constexpr std::array<std::string_view, 3> values{"bilinear", "nearest", "bicubic"};
};

template <>
struct EnumNames<SamplePadding> {
  static constexpr std::string_view kind = "sample padding";
  static constexpr std::array<std::string_view, 3> values{"zeros", "border", "reflection"};
};

template <>
struct EnumNames<QuantFormat> {
  static constexpr std::string_view kind = "quantised format";
  static constexpr std::array<std::string_view, 11> values{
      "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "mxfp4"};
};

template <>
struct EnumNames<RecurrentCell> {
  static constexpr std::string_view kind = "recurrent cell";
  static constexpr std::array<std::string_view, 5> values{"rnn_tanh", "rnn_relu", "lstm", "gru",
                                                          "gru_reset_before"};
};

/// The name of a value; "?" for a value that the enum does not have.
template <class Enum>
constexpr std::string_view to_string(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < EnumNames<Enum>::values.size() ? EnumNames<Enum>::values[index] : "?";
}

/// The value with this name, or nothing.
template <class Enum>
constexpr std::optional<Enum> from_string(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<Enum>::values.size(); ++i) {
    if (EnumNames<Enum>::values[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace tilewright
