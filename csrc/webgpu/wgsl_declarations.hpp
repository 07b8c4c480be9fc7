#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "webgpu/wgsl_text.hpp"

namespace tilewright::webgpu {

/// What a WGSL module declares, by place in its tokens. What is no WGSL is read as something or
/// refused, in as many steps as there are tokens; which of it the compiler says.
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
  /// A declaration of the module, attributes left out.
  struct Global {
    std::string_view word;  ///< "fn", "struct", ...
    std::string_view name, space;
    Place begin, end;
    int line;
  };
  /// Without a type or a value these end where they begin.
  struct Override {
    std::string_view name;
    std::optional<Place> id;  ///< the first argument of its @id
    Place type, type_end, value, end;
    int line;
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

  const std::vector<Global>& globals() const { return globals_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Override>& overrides() const { return overrides_; }
  const std::map<std::string_view, Function>& functions() const { return functions_; }

  /// The type at a place, with the least bytes it takes: an open-ended array has one element.
  Type type(Place place) const;
  /// The same in a function: a constant of the same name in any function may be meant, so the
  /// largest of them is.
  Type largest_type(Place place) const;
  /// Whether an array, a structure or an alias is named at a place.
  bool names_composite(Place place) const;
  /// The type that [ or .NAME at `place` selects from the type at `whole`; none where it has none.
  std::optional<Place> part(Place whole, Place place) const;
  /// The members where the type at a place is a structure, else none.
  std::vector<Member> members(Place place) const;
  /// The whole number that is written at a place.
  std::int64_t number(Place place) const;
  /// The same, in a function too, where it can be read, and ends at `end` where that is given.
  std::optional<std::int64_t> number_if_known(Place place,
                                              std::optional<Place> end = std::nullopt) const;
  /// The names and marks from an opening bracket to its closing one.
  std::vector<std::string_view> inside(Place bracket) const;
  /// The names and marks of [begin, end).
  std::vector<std::string_view> words(Place begin, Place end) const;
  /// The places of the arguments, the first of which is at a place, up to the closing bracket.
  std::vector<Place> arguments(Place first) const;

  const Token& at(Place place) const;
  /// The end of the text where no bracket closes it.
  Place closing(Place bracket) const;

 private:
  /// Counts what is open while it lives.
  struct Nested {
    explicit Nested(int& depth) : depth(depth) { ++depth; }
    ~Nested() { --depth; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    int& depth;
  };

  Place after(Place place, std::string_view mark) const;
  Place declare(Place place, Attributes attributes);
  void declare_override(Place place, Place end, const Attributes& attributes);
  Place declare_variable(Place place, Attributes attributes);

  Type read_type(Place& place) const;
  Type read_vector(std::string_view name, Place& place) const;
  Type read_matrix_share(std::string_view name, Place& place) const;
  Type read_array(Place& place) const;
  Type structure(std::string_view name, std::vector<Member>* members) const;

  using Number = std::optional<std::int64_t>;
  Number read_number(Place& place, int lowest) const;
  Number read_operand(Place& place) const;
  Number read_greatest(Place& place) const;
  Number constant(std::string_view name) const;

  const gpu::ExpandedText& code_;
  const std::vector<Token>& tokens_;
  std::vector<Variable> variables_;
  std::vector<Override> overrides_;
  std::map<std::string_view, Function> functions_;
  std::map<std::string_view, Place> structures_;  // to their {
  std::map<std::string_view, Place> aliases_;     // to their type
  std::map<std::string_view, Place> constants_;   // to their value
  std::multimap<std::string_view, Place> local_constants_;
  std::vector<Global> globals_;
  // What is read is kept: declarations that double would else take twice as long at each.
  mutable bool in_function_ = false;
  mutable int nested_types_ = 0, nested_numbers_ = 0;
  mutable std::map<std::pair<std::string_view, bool>, Number> numbers_;
  mutable std::map<std::pair<std::string_view, bool>, Type> types_;
};

}  // namespace tilewright::webgpu
