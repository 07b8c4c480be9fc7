#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tilewright/program.hpp"

// What the array tier's elementwise functions are made of: names, dtypes, programs. Knows nothing
// of Python.
namespace tilewright::bindings {

/// How a function's operands find one dtype, and what comes of it.
enum class Rule : std::uint8_t {
  arithmetic,  ///< numbers; bool where the function has a form for it
  real,        ///< floats; integers and bool as the default float
  rounding,    ///< floats; integers and bool stay as they are
  test,        ///< floats, integers and bool as the default float; gives bool
  equality,    ///< anything; gives bool
  order,       ///< anything, bool as a small integer; gives bool
  bits,        ///< integers and bool
  shift,       ///< integers
  logic,       ///< each operand as bool; gives bool
  copy,        ///< anything as it is
  choice,      ///< bool and two of one dtype
};

inline constexpr std::size_t most_operands = 3;

struct ElementFunction {
  std::string_view name;
  std::string_view op;  ///< a program's; none copies
  Rule rule;
  std::uint8_t operands;
  std::string_view on_bool = {};  ///< an op, or "copy"
};

inline constexpr std::size_t element_function_count = 79;

/// By the array API standard's name, or NumPy's; null where there is none.
const ElementFunction* element_function(std::string_view name) noexcept;
std::span<const ElementFunction> element_functions() noexcept;

bool is_float(DType dtype) noexcept;
bool is_integer(DType dtype) noexcept;
/// Whether an integer dtype holds it, of which `overflow` says the side where 64 bits do not.
bool holds(DType integer, std::int64_t value, int overflow) noexcept;

inline constexpr DType default_float = DType::float32;

/// The dtype that two others meet in, as in NumPy; none for int64 and uint64, which have none that
/// holds both.
std::optional<DType> promoted(DType a, DType b) noexcept;

/// Whether NumPy's casting rule "same_kind" allows it.
bool same_kind(DType from, DType to) noexcept;

/// A function of operands that met in one dtype.
struct TypedFunction {
  std::string_view op;  ///< none: the operand itself
  DType computed_in;
  DType result;
};

/// None where the function does not take this dtype.
std::optional<TypedFunction> typed(const ElementFunction& function, DType met) noexcept;

/// An operand of a program: an array of some dtype, or a number.
struct Source {
  DType dtype;
  bool is_number;
  bool operator==(const Source&) const = default;
};

/// The program of a function: its operands are cast, its result too. Kept for the process; the
/// caller holds the GIL.
const Program& program_of(const ElementFunction& function, const TypedFunction& how,
                          std::span<const Source> sources, DType out);

/// The function's result in a program: its operands are cast to what it computes in.
Program::Value applied(Program& program, const ElementFunction& function, const TypedFunction& how,
                       std::vector<Program::Value> operands);

/// What casts elements; from a number where `number`.
const Program& cast_program(DType from, DType to, bool number = false);

}  // namespace tilewright::bindings
