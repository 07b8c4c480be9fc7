#include <algorithm>
#include <string>
#include <utility>

#include "core/text.hpp"
#include "webgpu/wgsl_declarations.hpp"

// The layout of types in memory, by the rules of WGSL.
namespace tilewright::webgpu {

namespace {

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
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) return type(alias->second);
  if (structures_.count(name) != 0) return structure(name, nullptr);
  if (const std::uint64_t bytes = scalar_bytes(name)) return {std::string(name), bytes, bytes};
  const bool is_vector = name.substr(0, 3) == "vec" && name.size() >= 4 && is_size(name[3]);
  const bool is_matrix =
      name.substr(0, 3) == "mat" && name.size() >= 6 && is_size(name[3]) && is_size(name[5]);
  if (is_vector || is_matrix) return read_vector(name, place);
  if (name == "array") return read_array(place);
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
  return {name, count * stride, element.alignment, std::move(obstacle)};
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
    const std::uint64_t its_alignment = std::max(type.alignment, least_alignment);
    const std::uint64_t offset = rounded_up(end, its_alignment);
    if (members != nullptr) members->push_back({std::string(member), type, offset});
    end = offset + std::max(type.bytes, least_bytes);
    alignment = std::max(alignment, its_alignment);
    if (obstacle.empty()) obstacle = type.uniform_obstacle;
    if (at(place).is(",")) ++place;
  }
  return {std::string(name), rounded_up(end, alignment), alignment, std::move(obstacle)};
}

}  // namespace tilewright::webgpu
