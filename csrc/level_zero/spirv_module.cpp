#include "level_zero/spirv_module.hpp"

#include <algorithm>
#include <cstring>

#include "core/text.hpp"

namespace tilewright::level_zero {

namespace {

constexpr std::size_t header_words = 5;
constexpr std::size_t most_bytes = 8 << 20;
constexpr std::size_t most_name_bytes = 1000;

enum Op : std::uint32_t {
  name = 5,
  member_name = 6,
  entry_point = 15,
  execution_mode = 16,
  type_int = 21,
  type_float = 22,
  type_vector = 23,
  type_array = 28,
  type_struct = 30,
  type_pointer = 32,
  constant = 43,
  function = 54,
  function_parameter = 55,
  function_end = 56,
  variable = 59,
  decorate = 71,
};
constexpr std::uint32_t kernel_model = 6, local_size = 17;
constexpr std::uint32_t decoration_number = 1, decoration_packed = 10, decoration_attribute = 38;

/// The operands of an instruction; those past its end read as 0.
class Operands {
 public:
  explicit Operands(std::span<const std::uint32_t> words) : words_(words) {}
  std::uint32_t operator[](std::size_t i) const { return i < words_.size() ? words_[i] : 0; }
  std::size_t size() const { return words_.size(); }
  std::vector<std::uint32_t> from(std::size_t i) const {
    if (i >= words_.size()) return {};
    return {words_.begin() + static_cast<std::ptrdiff_t>(i), words_.end()};
  }
  /// Up to its null, which may be missing. A long one is cut: what shares an id shares its name.
  std::string text(std::size_t i) const {
    if (i >= words_.size()) return {};
    auto bytes = std::as_bytes(words_.subspan(i));
    bytes = bytes.first(std::min(bytes.size(), most_name_bytes));
    const char* begin = reinterpret_cast<const char*>(bytes.data());
    return {begin, std::find(begin, begin + bytes.size(), '\0')};
  }

 private:
  std::span<const std::uint32_t> words_;
};

void read_type(SpirvModule& module, Op op, const Operands& a) {
  using Kind = SpirvModule::Kind;
  SpirvModule::Type& type = module.types[a[0]];
  switch (op) {
    case type_int:
      type.kind = Kind::number;
      type.bits = a[1];
      type.is_signed = a[2] != 0;
      break;
    case type_float:
      type.kind = Kind::number;
      type.bits = a[1];
      type.is_float = true;
      break;
    case type_vector:
      type.kind = Kind::vector;
      type.parts = {a[1]};
      type.count = a[2];
      break;
    case type_array:
      type.kind = Kind::array;
      type.parts = {a[1]};
      if (const auto length = module.constants.find(a[2]); length != module.constants.end()) {
        type.count = length->second;
      }
      break;
    case type_struct:
      type.kind = Kind::structure;
      type.parts = a.from(1);
      break;
    default:
      type.kind = Kind::pointer;
      type.storage = a[1];
      type.parts = {a[2]};
  }
}

/// Leaves out one whose type or value is not there, or is no number that a value could be.
void read_specialization(SpirvModule& module, std::uint32_t op, const Operands& a, std::size_t at) {
  if (op == spirv::specialization_constant) {
    const auto found = module.types.find(a[0]);
    if (found == module.types.end()) return;
    const std::uint32_t bits = found->second.bits;
    const bool known =
        bits == 16 || bits == 32 || bits == 64 || (bits == 8 && !found->second.is_float);
    if (!known || a.size() < (bits == 64 ? 4u : 3u)) return;
  }
  if (a.size() >= 2) module.specializations.push_back({at, a[0], a[1]});
}

/// The instruction is at word `at`. `open` is the function whose parameters are being read, 0 for
/// none.
void read_instruction(SpirvModule& module, std::uint32_t op, const Operands& a, std::size_t at,
                      std::uint32_t& open) {
  switch (op) {
    case name:
      module.names[a[0]] = a.text(1);
      break;
    case member_name:
      module.member_names[(std::uint64_t{a[0]} << 32) | a[1]] = a.text(2);
      break;
    case entry_point:
      if (a[0] == kernel_model) module.entry_points.push_back({a.text(2), a[1]});
      break;
    case execution_mode:
      if (a[1] == local_size) module.workgroup_sizes[a[0]] = {a[2], a[3], a[4]};
      break;
    case type_int:
    case type_float:
    case type_vector:
    case type_array:
    case type_struct:
    case type_pointer:
      read_type(module, static_cast<Op>(op), a);
      break;
    case spirv::specialization_true:
    case spirv::specialization_false:
      read_specialization(module, op, a, at);
      break;
    case spirv::specialization_constant:
      read_specialization(module, op, a, at);
      [[fallthrough]];
    case constant:
      module.constants[a[1]] = a[2] | (std::uint64_t{a[3]} << 32);
      break;
    case function:
      open = a[1];
      module.functions[open] = {};
      break;
    case function_parameter:
      if (open != 0) {
        module.functions[open].types.push_back(a[0]);
        module.functions[open].parameters.push_back(a[1]);
      }
      break;
    case function_end:
      open = 0;
      break;
    case variable:
      if (a[2] == spirv::workgroup) module.workgroup_variables.push_back(a[0]);
      break;
    case decorate:
      if (a[1] == decoration_number) module.specialization_numbers[a[0]] = a[2];
      if (a[1] == decoration_packed) module.types[a[0]].packed = true;
      if (a[1] == decoration_attribute) module.parameter_attributes[a[0]].push_back(a[2]);
      break;
    default:
      break;
  }
}

}  // namespace

bool SpirvModule::has_attribute(std::uint32_t id, std::uint32_t attribute) const {
  const auto found = parameter_attributes.find(id);
  return found != parameter_attributes.end() &&
         std::ranges::find(found->second, attribute) != found->second.end();
}

SpirvModule read_module(std::string_view code,
                        const std::function<void(const std::string& why)>& refuse) {
  if (code.size() % sizeof(std::uint32_t) != 0 ||
      code.size() < header_words * sizeof(std::uint32_t)) {
    refuse(text("it is ", code.size(), " bytes, expected the words of a SPIR-V module"));
  }
  if (code.size() > most_bytes) {
    refuse(text("it is ", code.size(), " bytes, expected at most ", most_bytes));
  }
  std::vector<std::uint32_t> words(code.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), code.data(), code.size());
  if (words[0] != spirv::magic) {
    refuse("it does not begin as a SPIR-V module of this machine's byte order does");
  }
  SpirvModule module;
  std::uint32_t open = 0;
  for (std::size_t at = header_words; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at) {
      refuse(text("word ", at, " begins an instruction of ", length, " words, but ",
                  words.size() - at, " are left"));
    }
    read_instruction(module, words[at] & 0xffff,
                     Operands(std::span(words).subspan(at + 1, length - 1)), at, open);
    at += length;
  }
  return module;
}

}  // namespace tilewright::level_zero
