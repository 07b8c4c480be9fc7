#include "webgpu/wgsl_constants.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "gpu/kernel_constants.hpp"
#include "webgpu/wgsl_declarations.hpp"

namespace tilewright::webgpu {

namespace {

using gpu::ConstantType;
using Kind = ConstantType::Kind;

/// Digits that are read as the same number again.
template <class Real>
std::string digits(Real value) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

/// The type that WGSL gives an override whose type is not written; none where its value is more
/// than one word.
std::string type_of_value(const std::vector<std::string_view>& words) {
  if (words.empty()) return "";
  const bool negative = words.front() == "-";
  if (words.size() != (negative ? 2 : 1)) return "";
  const std::string_view word = words.back();
  if (word == "true" || word == "false") return "bool";
  if (word.empty() || (word[0] != '.' && (word[0] < '0' || word[0] > '9'))) return "";
  const bool hex = word.substr(0, 2) == "0x" || word.substr(0, 2) == "0X";
  const char last = word.back();
  if (last == 'u') return "u32";
  if (last == 'i') return "i32";
  if (last == 'h') return "f16";
  const std::string_view real = hex ? ".pP" : ".eEf";
  return word.find_first_of(real) == std::string_view::npos ? "i32" : "f32";
}

std::optional<ConstantType> constant_type(std::string_view name) {
  if (name == "bool") return ConstantType{Kind::boolean, "bool"};
  if (name == "i32") return ConstantType{Kind::whole, "i32", 32, true, false};
  if (name == "u32") return ConstantType{Kind::whole, "u32", 32, false, true};
  if (name == "f32") return ConstantType{Kind::real, "f32", 32};
  if (name == "f16") return ConstantType{Kind::real, "f16", 16};
  return std::nullopt;
}

/// A value of the type, as WGSL writes it.
std::string literal(std::string_view name, const KernelConstant& value, const ConstantType& type) {
  switch (type.kind) {
    case Kind::boolean:
      return gpu::boolean_value(name, value, type) ? "true" : "false";
    case Kind::whole: {
      const std::int64_t number = gpu::whole_value(name, value, type);
      return text(type.name, "(", number, ")");
    }
    case Kind::real:
      break;
  }
  const double number = gpu::real_value(name, value, type);
  return text(type.name, "(", digits(static_cast<float>(number)), ")");
}

}  // namespace

gpu::ExpandedText with_constants(const gpu::KernelDescription& kernel) {
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  const Declarations module(kernel.code, tokens);
  std::string declared;
  for (const Declarations::Override& one : module.overrides()) {
    declared += text(declared.empty() ? "" : ", ", one.name);
  }
  struct Change {
    std::size_t begin, end;  // in the text
    std::string value;
  };
  std::vector<Change> changes;
  std::map<std::string_view, std::string_view> given;  // how each was called
  const auto place_of = [&](Declarations::Place place) {
    const std::string_view word = module.at(place).text;
    return word.empty() ? kernel.code.text.size()
                        : static_cast<std::size_t>(word.data() - kernel.code.text.data());
  };
  for (const auto& [name, value] : kernel.constants_by_name) {
    const auto found = std::ranges::find_if(module.overrides(), [&](const auto& one) {
      return one.name == name || (one.id && text(module.number(*one.id)) == name);
    });
    if (found == module.overrides().end()) gpu::unknown_constant(name, kernel.name, declared);
    const auto [other, fresh] = given.emplace(found->name, name);
    if (!fresh) gpu::constant_given_twice(other->second, name);
    const std::vector<std::string_view> type = module.words(found->type, found->type_end);
    const std::string type_name = type.size() == 1
                                      ? std::string(type[0])
                                      : type_of_value(module.words(found->value, found->end));
    const auto declared_type = constant_type(type_name);
    if (!declared_type) {
      refuse(kernel.code, found->line,
             text("the type of ", found->name,
                  " cannot be seen, so that it can be given no value; write one of bool, i32, u32, "
                  "f32 and f16"));
    }
    const std::string written = literal(name, value, *declared_type);
    const bool has_value = found->value < found->end;
    const std::size_t begin = place_of(has_value ? found->value : found->end);
    changes.push_back({begin, place_of(found->end), has_value ? written : text(" = ", written)});
  }
  // From the last on, so that the places of the others stay.
  std::ranges::sort(changes, std::ranges::greater(), &Change::begin);
  gpu::ExpandedText code = kernel.code;
  for (const Change& change : changes) {
    const std::string_view before =
        std::string_view(code.text).substr(change.begin, change.end - change.begin);
    const std::string lines(static_cast<std::size_t>(std::ranges::count(before, '\n')), '\n');
    code.text.replace(change.begin, change.end - change.begin, change.value + lines);
  }
  return code;
}

}  // namespace tilewright::webgpu
