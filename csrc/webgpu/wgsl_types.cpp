#include <algorithm>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "webgpu/wgsl_declarations.hpp"

// The layout of types in memory, by the rules of WGSL.
namespace tilewright::webgpu {

namespace {

/// Larger things are one and the same: too large.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr int most_nested = 32;  // WGSL promises 15

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::uint64_t scalar_bytes(std::string_view name) {
  if (name == "f16") return 2;
  if (name == "f32" || name == "u32" || name == "i32" || name == "bool") return 4;
  if (name == "f64" || name == "u64" || name == "i64") return 8;
  return 0;
}

/// The scalar that vec3f and mat4x4h mean by their last letter; none where there is no letter.
std::string_view scalar_of_letter(char c) {
  switch (c) {
    case 'f':
      return "f32";
    case 'h':
      return "f16";
    case 'i':
      return "i32";
    case 'u':
      return "u32";
    default:
      return {};
  }
}

bool is_size(char c) { return c >= '2' && c <= '4'; }

/// Two scalars align to both, three as four.
std::uint64_t vector_alignment(std::uint64_t count, std::uint64_t scalar) {
  return (count == 3 ? 4 : count) * scalar;
}

}  // namespace

Declarations::Type Declarations::type(Place place) const { return read_type(place); }

Declarations::Type Declarations::largest_type(Place place) const {
  in_function_ = true;
  try {
    Type type = read_type(place);
    in_function_ = false;
    return type;
  } catch (...) {
    in_function_ = false;
    throw;
  }
}

bool Declarations::names_composite(Place place) const {
  const std::string_view name = at(place).text;
  if (place > 0 && at(place - 1).is(".")) return false;
  return (name == "array" && at(place + 1).is("<")) || structures_.count(name) != 0 ||
         aliases_.count(name) != 0;
}

std::optional<Declarations::Place> Declarations::part(Place whole, Place place) const {
  for (auto alias = aliases_.find(at(whole).text); alias != aliases_.end();
       alias = aliases_.find(at(whole).text)) {
    whole = alias->second;
  }
  if (at(place).is("[") && at(whole).is("array")) return whole + 2;
  const auto structure = structures_.find(at(whole).text);
  if (!at(place).is(".") || structure == structures_.end()) return std::nullopt;
  const Place end = closing(structure->second);
  for (Place member = structure->second; member < end; ++member) {
    if (at(member).is(at(place + 1).text) && at(member + 1).is(":")) return member + 2;
  }
  return std::nullopt;
}

std::vector<Declarations::Member> Declarations::members(Place place) const {
  std::string_view name = at(place).text;
  for (auto alias = aliases_.find(name); alias != aliases_.end(); alias = aliases_.find(name)) {
    name = at(alias->second).text;
  }
  std::vector<Member> all;
  if (structures_.count(name) != 0) structure(name, &all);
  return all;
}

Declarations::Type Declarations::read_type(Place& place) const {
  const Token& token = at(place++);
  const std::string_view name = token.text;
  const Nested nested(nested_types_);
  if (nested_types_ > most_nested) {
    refuse(code_, token.line, text("types nest more than ", most_nested, " deep"));
  }
  const auto alias = aliases_.find(name);
  if (alias != aliases_.end() || structures_.count(name) != 0) {
    const auto key = std::pair(name, in_function_);
    if (const auto known = types_.find(key); known != types_.end()) return known->second;
    const Type type =
        alias != aliases_.end() ? this->type(alias->second) : structure(name, nullptr);
    return types_.emplace(key, type).first->second;
  }
  if (const std::uint64_t bytes = scalar_bytes(name)) return {std::string(name), bytes, bytes};
  const bool is_vector = name.substr(0, 3) == "vec" && name.size() >= 4 && is_size(name[3]);
  const bool is_matrix =
      name.substr(0, 3) == "mat" && name.size() >= 6 && is_size(name[3]) && is_size(name[5]);
  if (is_vector || is_matrix) return read_vector(name, place);
  if (name == "array") return read_array(place);
  if (in_function_ && name.starts_with("subgroup_matrix_")) return read_matrix_share(name, place);
  if (name == "ptr") {
    int depth = 0;
    do {
      depth += at(place).is("<") ? 1 : at(place).is(">") ? -1 : 0;
    } while (depth > 0 && ++place < tokens_.size());
    ++place;
    return {"ptr", 4, 4};
  }
  if (name == "atomic") {
    ++place;
    const Type inner = read_type(place);
    ++place;
    return {text("atomic<", inner.name, ">"), inner.bytes, inner.alignment};
  }
  refuse(code_, token.line, text("the type ", name, " has no place in a buffer"));
}

Declarations::Type Declarations::read_vector(std::string_view name, Place& place) const {
  const std::string_view letter = scalar_of_letter(name.back());
  std::string scalar(letter);
  if (letter.empty()) {
    scalar = read_type(++place).name;
    ++place;
  } else {
    name.remove_suffix(1);
  }
  const std::uint64_t bytes = scalar_bytes(scalar);
  if (bytes == 0) {
    refuse(code_, at(place - 1).line, text("a vector or matrix of ", scalar, " is no type"));
  }
  const auto rows = static_cast<std::uint64_t>(name.back() - '0');
  const std::uint64_t alignment = vector_alignment(rows, bytes);
  // A matrix is columns of vectors, each at the alignment of one.
  const bool matrix = name[0] == 'm';
  const std::uint64_t size =
      matrix ? static_cast<std::uint64_t>(name[3] - '0') * alignment : rows * bytes;
  // The compiler ends the process over matrices of two rows in a uniform buffer.
  std::string obstacle =
      matrix && rows == 2 ? "matrices of two rows; use vectors of four" : std::string();
  return {text(name, "<", scalar, ">"), size, alignment, std::move(obstacle)};
}

/// What a work-item holds of a matrix that a subgroup multiplies.
Declarations::Type Declarations::read_matrix_share(std::string_view name, Place& place) const {
  constexpr std::uint64_t usual_subgroup = 32;
  const Type component = read_type(++place);
  std::uint64_t elements = 1;
  for (int dimension = 0; dimension < 2; ++dimension) {
    elements *= std::clamp<std::uint64_t>(static_cast<std::uint64_t>(number(++place)), 1, 1024);
    read_number(place, 0);
  }
  if (at(place).is(",")) ++place;
  ++place;
  return {std::string(name), rounded_up(elements * component.bytes / usual_subgroup, 4), 4};
}

Declarations::Type Declarations::read_array(Place& place) const {
  ++place;
  const Type element = read_type(place);
  const std::uint64_t stride = rounded_up(element.bytes, element.alignment);
  std::uint64_t count = 1;
  std::string name = text("array<", element.name, ">");
  if (at(place).is(",") && !at(place + 1).is(">")) {
    count = static_cast<std::uint64_t>(number(++place));
    read_number(place, 0);
    name = text("array<", element.name, ", ", count, ">");
  }
  if (at(place).is(",")) ++place;
  ++place;
  std::string obstacle = element.uniform_obstacle;
  if (obstacle.empty() && stride % 16 != 0) {
    obstacle = text("elements ", stride, " bytes apart; use elements of 16 bytes, such as vec4f");
  }
  const bool fits = stride == 0 || count <= most_bytes / stride;
  return {name, fits ? count * stride : most_bytes, element.alignment, std::move(obstacle)};
}

Declarations::Type Declarations::structure(std::string_view name,
                                           std::vector<Member>* members) const {
  Place place = structures_.at(name) + 1;
  std::uint64_t end = 0;
  std::uint64_t alignment = 1;
  std::string obstacle;
  while (place < tokens_.size() && !at(place).is("}")) {
    std::uint64_t least_alignment = 0;
    std::uint64_t least_bytes = 0;
    while (at(place).is("@")) {
      const bool has_arguments = at(place + 2).is("(");
      if (at(place + 1).is("align"))
        least_alignment = static_cast<std::uint64_t>(number(place + 3));
      if (at(place + 1).is("size")) least_bytes = static_cast<std::uint64_t>(number(place + 3));
      place = has_arguments ? closing(place + 2) + 1 : place + 2;
    }
    const std::string_view member = at(place).text;
    place += 2;
    const Type type = read_type(place);
    // An alignment above this, or of 0, the compiler refuses.
    const std::uint64_t its_alignment =
        std::clamp<std::uint64_t>(least_alignment, type.alignment, 1 << 16);
    const std::uint64_t offset = rounded_up(end, its_alignment);
    if (members != nullptr) members->push_back({std::string(member), type, offset});
    end = std::min(offset + std::max(type.bytes, std::min(least_bytes, most_bytes)), most_bytes);
    alignment = std::max(alignment, its_alignment);
    if (obstacle.empty()) obstacle = type.uniform_obstacle;
    if (at(place).is(",")) ++place;
  }
  return {std::string(name), rounded_up(end, alignment), alignment, std::move(obstacle)};
}

}  // namespace tilewright::webgpu
