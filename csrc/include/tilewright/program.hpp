#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/export.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

struct ProgramData;

/// A number for a program, of whatever kind it is in C++.
class TILEWRIGHT_API Number {
 public:
  template <std::same_as<bool> T>  // and nothing that merely converts to it, as pointers do
  Number(T value) : kind_(Kind::boolean), bits_(value ? 1 : 0) {}
  template <std::signed_integral T>
  Number(T value) : kind_(Kind::integer), bits_(static_cast<std::uint64_t>(std::int64_t{value})) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Number(T value) : kind_(Kind::natural), bits_(value) {}
  Number(double value);

  /// Its bits as an element of a dtype, in the lowest ones: floats are rounded to the nearest, ties
  /// to even. InvalidArgument where the dtype does not hold it: an integer out of range, a fraction
  /// as an integer. `what` is what the message calls it.
  std::uint64_t bits(DType dtype, std::string_view what) const;

 private:
  enum class Kind : std::uint8_t { boolean, integer, natural, real };
  std::string shown() const;

  Kind kind_;
  std::uint64_t bits_;
};

/// An elementwise computation of any number of inputs and outputs, built once and run by
/// Backend::map on any shape: all of it in one pass over memory.
///
///   Program p;
///   const auto x = p.input(DType::float32), y = p.input(DType::int8);
///   p.output(p.apply("mul", {p.apply("exp", {x}), p.cast(y, DType::float32)}));
///
/// Values have dtypes, and ops take operands of one dtype: cast() converts. float16 and bfloat16
/// are computed in float32 and rounded where they are stored, or where cast() asks for it; smaller
/// integers wrap as their dtype does. A program is a value: copies share what they have in common.
/// It has 4096 values and as many outputs at most. A value belongs to the program that gave it;
/// what another one makes of it is not defined.
class TILEWRIGHT_API Program {
 public:
  /// One of the values of this program.
  enum class Value : std::uint32_t {};

  Program();
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// The elements of the next input that map() is given.
  Value input(DType dtype);
  /// The next number that map() is given: one for all elements, another at each call.
  Value number(DType dtype);
  /// A number that is part of the program.
  Value constant(const Number& value, DType dtype);
  /// One of ops(), of this program's values. InvalidArgument where it does not fit their dtypes.
  Value apply(std::string_view op, std::span<const Value> operands);
  Value apply(std::string_view op, std::initializer_list<Value> operands) {
    return apply(op, std::span(operands.begin(), operands.size()));
  }
  /// Any dtype from any other. Integers wrap; floats become integers by leaving out the fraction,
  /// the nearest that there is where they are out of range, and 0 for NaN. What is not 0 is true.
  Value cast(Value value, DType dtype);
  /// The elements of the next output that map() is given are this value.
  void output(Value value);

  DType dtype(Value value) const;
  std::vector<DType> inputs() const;
  std::vector<DType> numbers() const;
  std::vector<DType> outputs() const;
  /// One line for each value.
  std::string listing() const;

  /// The names of all ops.
  static std::vector<std::string_view> ops();
  /// How many operands an op takes. InvalidArgument where there is none of this name.
  static std::size_t operands(std::string_view op);

  const std::shared_ptr<const ProgramData>& data() const { return data_; }

 private:
  std::shared_ptr<const ProgramData> data_;
};

/// What Backend::map, attention and others that take strides read or write.
struct MapOperand {
  MapOperand() = default;
  /// A buffer alone is contiguous from its start.
  MapOperand(Buffer of, std::span<const Size> by = {}, Size from = 0)
      : buffer(of), strides(by), offset(from) {}

  Buffer buffer = Buffer::null;
  /// In elements, one for each dimension of the shape, 0 and negative ones too. None: the elements
  /// are contiguous, row by row.
  std::span<const Size> strides = {};
  /// Of the element whose indices are all 0, in elements from the buffer's start.
  Size offset = 0;
};

/// One of the groups of operands that Backend::map_many runs a program over.
struct MapGroup {
  Size length = 0;  ///< elements of each operand
  /// One for each input and output of the program, in their order, without strides.
  std::span<const MapOperand> inputs = {}, outputs = {};
};

/// A program of Backend::map_rows and its numbers; none without a program.
struct RowProgram {
  const Program* program = nullptr;
  std::span<const Number> numbers = {};
};
/// What Backend::map_rows reduces each row by.
struct RowFold {
  Reduction op = Reduction::sum;
  const Program* program = nullptr;
  std::span<const Number> numbers = {};
};

/// An array of indices along one axis, for Backend::gather_elements and scatter_elements.
struct IndexOperand {
  MapOperand indices;          ///< one for each element of the call's shape, by strides
  DType dtype = DType::int64;  ///< any integer
  Size size = 0;               ///< of the axis
  Size stride = 0;             ///< along the axis, in elements of what is indexed
  Size axis = 0;               ///< what a message calls it
};

}  // namespace tilewright
