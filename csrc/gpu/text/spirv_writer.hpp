#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright::gpu {

/// An instruction of SPIR-V, as its specification numbers it.
enum class SpirvOp : std::uint32_t {
  undef = 1,
  extension = 10,
  import_instructions = 11,
  instruction_of_import = 12,
  memory_model = 14,
  entry_point = 15,
  execution_mode = 16,
  capability = 17,
  type_void = 19,
  type_bool = 20,
  type_int = 21,
  type_float = 22,
  type_vector = 23,
  type_array = 28,
  type_struct = 30,
  type_pointer = 32,
  type_function = 33,
  last_type = 39,
  constant_true = 41,
  constant_false = 42,
  constant = 43,
  function = 54,
  function_parameter = 55,
  function_end = 56,
  function_call = 57,
  variable = 59,
  load = 61,
  store = 62,
  in_bounds_access_chain = 66,
  decorate = 71,
  vector_shuffle = 79,
  composite_construct = 80,
  composite_extract = 81,
  composite_insert = 82,
  convert_u = 113,
  bitcast = 124,
  add = 128,
  subtract = 130,
  multiply = 132,
  divide_unsigned = 134,
  remainder_unsigned = 137,
  logical_and = 167,
  select = 169,
  unsigned_less = 176,
  shift_left = 196,
  bitwise_or = 197,
  control_barrier = 224,
  phi = 245,
  label = 248,
  branch = 249,
  branch_conditional = 250,
  switch_ = 251,
  return_ = 253,
  lifetime_start = 256,
  lifetime_stop = 257,
};

/// A SPIR-V module of exported functions.
class SpirvLibrary {
 public:
  /// Keeps a view of the module, which is trusted.
  explicit SpirvLibrary(std::span<const std::uint32_t> module);

 private:
  friend class SpirvWriter;
  using Words = std::span<const std::uint32_t>;
  struct Function {
    Words words;  ///< from its OpFunction to its end
    Words type;   ///< its OpTypeFunction
  };

  std::uint32_t bound_ = 0;
  std::vector<Words> imports_;  ///< of instructions
  std::vector<Words> globals_;  ///< types, constants and variables
  std::vector<Words> decorations_;
  std::vector<Words> definitions_;                         ///< by id: of what functions share
  std::unordered_map<std::uint32_t, Function> functions_;  ///< by id
  std::vector<std::uint32_t> order_;                       ///< their ids, as they come
  std::unordered_map<std::string_view, std::uint32_t> exports_;
};

/// Writes a module with one kernel, which calls functions of a library: those, and what they need,
/// are all that it has of the library. The same calls make the same words.
class SpirvWriter {
 public:
  using Id = std::uint32_t;

  explicit SpirvWriter(const SpirvLibrary& library)
      : library_(library), used_(library.bound_), next_(library.bound_) {}

  Id new_id() { return next_++; }
  /// The one type that these words say.
  Id type(SpirvOp op, std::initializer_list<std::uint32_t> operands) {
    return type(op, std::span(operands));
  }
  Id type(SpirvOp op, std::span<const std::uint32_t> operands);
  Id constant(Id type, std::initializer_list<std::uint32_t> words);
  Id boolean(bool value);
  /// One of the module's own, such as memory of the workgroup; another at each call.
  Id variable(Id pointer_type, std::uint32_t storage);

  void decorate(std::initializer_list<std::uint32_t> operands);

  // What follows is the kernel's code, in its order.
  void write(SpirvOp op, std::initializer_list<std::uint32_t> operands) {
    write(op, std::span(operands));
  }
  void write(SpirvOp op, std::span<const std::uint32_t> operands);
  /// An instruction with a result of a type.
  Id value(SpirvOp op, Id type, std::initializer_list<std::uint32_t> operands);
  /// A function of the library. KernelError where there is none of this name.
  Id call(std::string_view name, std::initializer_list<Id> arguments) {
    return call(name, std::span(arguments));
  }
  Id call(std::string_view name, std::span<const Id> arguments);
  /// The types of a function of the library: of its result, then of its parameters.
  std::span<const Id> types_of(std::string_view name) const;

  /// The module, with the kernel of this id and name, whose workgroups are of `group` work-items in
  /// a row.
  std::string module(Id kernel, std::string_view name, std::uint32_t group);

 private:
  using Words = SpirvLibrary::Words;

  Id export_named(std::string_view name) const;
  /// Marks what these instructions need of the library, themselves too where they are its own.
  void use(Words instructions);
  /// The one type or constant of these operands; `result` is the place of its id among them.
  Id global(SpirvOp op, std::vector<std::uint32_t> operands, std::size_t result);
  std::vector<std::uint32_t> capabilities() const;

  const SpirvLibrary& library_;
  std::vector<bool> used_;  // of the library's ids
  Id next_;
  std::map<std::vector<std::uint32_t>, Id> made_;  // types and constants, without their ids
  std::vector<std::uint32_t> decorations_, globals_, code_;
};

}  // namespace tilewright::gpu
