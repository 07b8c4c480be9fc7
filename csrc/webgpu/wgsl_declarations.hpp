#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "webgpu/wgsl_text.hpp"

namespace tilewright::webgpu {

/// What a WGSL module declares, by place in its tokens. The text must be one that the compiler has
/// taken: nothing is checked twice.
class Declarations {
 public:
  using Place = std::size_t;
  using Attributes = std::map<std::string_view, Place>;  ///< to the first argument

  struct Variable {
    std::string_view name, space, access;
    Place type;
    int line;
    Attributes attributes;
  };
  struct Function {
    Place body;  ///< its {
    int line;
    Attributes attributes;
  };
  struct Type {
    std::string name;
    std::uint64_t bytes, alignment;
    /// What in it keeps it out of a uniform buffer, and what to use there; else empty.
    std::string uniform_obstacle{};
  };
  struct Member {
    std::string name;
    Type type;
    std::uint64_t offset;
  };

  Declarations(const gpu::ExpandedText& code, const std::vector<Token>& tokens);

  const std::vector<Variable>& variables() const { return variables_; }
  const std::map<std::string_view, Function>& functions() const { return functions_; }

  /// The type at a place, with the least bytes it takes: an open-ended array has one element.
  Type type(Place place) const;
  /// The members where the type at a place is a structure, else none.
  std::vector<Member> members(Place place) const;
  /// The whole number that is written at a place.
  std::int64_t number(Place place) const;
  /// The names and marks from an opening bracket to its closing one.
  std::vector<std::string_view> inside(Place bracket) const;
  /// The places of the arguments, the first of which is at a place, up to the closing bracket.
  std::vector<Place> arguments(Place first) const;

 private:
  const Token& at(Place place) const;
  Place closing(Place bracket) const;
  Place after(Place place, std::string_view mark) const;
  Place declare(Place place, Attributes attributes);
  Place declare_variable(Place place, Attributes attributes);

  Type read_type(Place& place) const;
  Type read_vector(std::string_view name, Place& place) const;
  Type read_array(Place& place) const;
  Type structure(std::string_view name, std::vector<Member>* members) const;

  using Number = std::optional<std::int64_t>;
  Number read_number(Place& place, int lowest) const;
  Number read_operand(Place& place) const;

  const gpu::ExpandedText& code_;
  const std::vector<Token>& tokens_;
  std::vector<Variable> variables_;
  std::map<std::string_view, Function> functions_;
  std::map<std::string_view, Place> structures_;  // to their {
  std::map<std::string_view, Place> aliases_;     // to their type
  std::map<std::string_view, Place> constants_;   // to their value
};

}  // namespace tilewright::webgpu
