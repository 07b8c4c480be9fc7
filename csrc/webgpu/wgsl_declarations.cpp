#include "webgpu/wgsl_declarations.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace tilewright::webgpu {

Declarations::Declarations(const gpu::ExpandedText& code, const std::vector<Token>& tokens)
    : code_(code), tokens_(tokens) {
  Attributes attributes;
  for (Place place = 0; place < tokens_.size();) {
    if (at(place).is("@")) {
      const bool has_arguments = at(place + 2).is("(");
      attributes.emplace(at(place + 1).text, place + 3);
      place = has_arguments ? closing(place + 2) + 1 : place + 2;
    } else {
      const Place begin = place;
      place = declare(place, std::move(attributes));
      attributes.clear();
      const bool variable = at(begin).is("var") && !variables_.empty();
      globals_.push_back({at(begin).text, variable ? variables_.back().name : at(begin + 1).text,
                          variable ? variables_.back().space : std::string_view(), begin,
                          std::min(place, tokens_.size()), at(begin).line});
    }
  }
  for (const Global& global : globals_) {
    if (global.word != "fn") continue;
    for (Place place = global.begin; place < global.end; ++place) {
      if (!at(place).is("const")) continue;
      const Place value = after(place, "=");
      if (value < global.end) local_constants_.emplace(at(place + 1).text, value);
    }
  }
}

const Token& Declarations::at(Place place) const {
  static const Token end{{}, 0};
  return place < tokens_.size() ? tokens_[place] : end;
}

Declarations::Place Declarations::closing(Place bracket) const {
  int depth = 0;
  for (Place place = bracket; place < tokens_.size(); ++place) {
    const char c = tokens_[place].text[0];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return place;
  }
  return tokens_.size();
}

Declarations::Place Declarations::after(Place place, std::string_view mark) const {
  while (place < tokens_.size() && !at(place).is(mark)) ++place;
  return place + 1;
}

Declarations::Place Declarations::declare(Place place, Attributes attributes) {
  const Token& word = at(place);
  const std::string_view name = at(place + 1).text;
  if (word.is("struct")) {
    structures_.emplace(name, place + 2);
    return closing(place + 2) + 1;
  }
  if (word.is("fn")) {
    Place body = closing(place + 2);
    while (body < tokens_.size() && !at(body).is("{")) ++body;
    functions_.emplace(name, Function{body, word.line, std::move(attributes)});
    return closing(body) + 1;
  }
  if (word.is("var")) return declare_variable(place + 1, std::move(attributes));
  const Place end = after(place, ";");
  if (word.is("override")) declare_override(place + 1, end - 1, attributes);
  if (word.is("alias")) aliases_.emplace(name, place + 3);
  if (word.is("const") || word.is("override")) {
    const Place value = after(place, "=");
    if (value < end) constants_.emplace(name, value);
  }
  return end;
}

/// Up to its ; at `end`.
void Declarations::declare_override(Place place, Place end, const Attributes& attributes) {
  const Place equals = std::min(after(place, "=") - 1, end);
  const bool typed = at(place + 1).is(":");
  const auto id = attributes.find("id");
  overrides_.push_back(
      {at(place).text, id == attributes.end() ? std::nullopt : std::optional(id->second),
       typed ? place + 2 : equals, equals, std::min(equals + 1, end), end, at(place).line});
}

Declarations::Place Declarations::declare_variable(Place place, Attributes attributes) {
  Variable variable{{}, {}, {}, 0, at(place).line, std::move(attributes)};
  if (at(place).is("<")) {
    variable.space = at(place + 1).text;
    if (at(place + 2).is(",")) variable.access = at(place + 3).text;
    place = after(place, ">");
  }
  variable.name = at(place).text;
  variable.type = place + 2;
  variables_.push_back(std::move(variable));
  return after(place, ";");
}

std::vector<std::string_view> Declarations::inside(Place bracket) const {
  return words(bracket, closing(bracket));
}

std::vector<std::string_view> Declarations::words(Place begin, Place end) const {
  std::vector<std::string_view> all;
  for (Place place = begin; place < end; ++place) all.push_back(at(place).text);
  return all;
}

std::vector<Declarations::Place> Declarations::arguments(Place first) const {
  std::vector<Place> all;
  int depth = 0;
  for (Place place = first; place < tokens_.size(); ++place) {
    const char c = tokens_[place].text[0];
    if (c == ')' && depth == 0) break;
    if (all.empty() || (depth == 0 && at(place - 1).is(","))) all.push_back(place);
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  }
  return all;
}

// Numbers ---------------------------------------------------------------------------------------

std::int64_t Declarations::number(Place place) const {
  const Place start = place;
  if (const Number value = read_number(place, 0)) return *value;
  refuse(code_, at(start).line,
         text("the number ", at(start).text,
              "... is not one that can be read here; write it with whole numbers, const names, "
              "+ - * / % and <<"));
}

std::optional<std::int64_t> Declarations::number_if_known(Place place,
                                                          std::optional<Place> end) const {
  const bool before = std::exchange(in_function_, true);
  const Number value = read_number(place, 0);
  in_function_ = before;
  return end && place != *end ? std::nullopt : value;
}

Declarations::Number Declarations::read_number(Place& place, int lowest) const {
  Number left = read_operand(place);
  for (;;) {
    const std::string_view op = at(place).text;
    const bool shift = op == "<" && at(place + 1).is("<");
    const int level = shift                                 ? 1
                      : op == "+" || op == "-"              ? 2
                      : op == "*" || op == "/" || op == "%" ? 3
                                                            : 0;
    if (level <= lowest || !left) return left;
    place += shift ? 2 : 1;
    const Number right = read_number(place, level);
    if (!right) return right;
    // Wrapped, not trapped: the compiler has refused what does not fit.
    const auto a = static_cast<std::uint64_t>(*left);
    const auto b = static_cast<std::uint64_t>(*right);
    if (op == "+") left = static_cast<std::int64_t>(a + b);
    if (op == "-") left = static_cast<std::int64_t>(a - b);
    if (op == "*") left = static_cast<std::int64_t>(a * b);
    if (shift) left = static_cast<std::int64_t>(a << (b & 63));
    if (op == "/" || op == "%") {
      if (*right <= 0) return std::nullopt;
      left = op == "/" ? *left / *right : *left % *right;
    }
  }
}

Declarations::Number Declarations::constant(std::string_view name) const {
  const auto [known, fresh] = numbers_.try_emplace({name, in_function_});
  if (!fresh) return known->second;  // none yet where it goes round in a circle
  const auto read = [&](Place value) {
    const Number number = read_number(value, 0);
    return at(value).is(";") ? number : std::nullopt;
  };
  const auto global = constants_.find(name);
  Number number = global == constants_.end() ? std::nullopt : read(global->second);
  const auto [first, last] = local_constants_.equal_range(name);
  for (auto local = first; in_function_ && local != last; ++local) {
    const Number other = read(local->second);
    if (!other) return std::nullopt;
    number = std::max(number, other);
  }
  return known->second = number;
}

/// max(a, b)
Declarations::Number Declarations::read_greatest(Place& place) const {
  const Number a = read_number(++place, 0);
  if (!at(place++).is(",")) return std::nullopt;
  const Number b = read_number(place, 0);
  if (at(place).is(",")) ++place;
  if (!at(place++).is(")") || !a || !b) return std::nullopt;
  return std::max(a, b);
}

Declarations::Number Declarations::read_operand(Place& place) const {
  const Token token = at(place++);
  constexpr int most_nested = 200;
  const Nested nested(nested_numbers_);
  if (nested_numbers_ > most_nested) return std::nullopt;
  if (token.is("-")) {
    const Number value = read_operand(place);
    return value ? Number(static_cast<std::int64_t>(-static_cast<std::uint64_t>(*value))) : value;
  }
  if (token.is("(")) {
    const Number value = read_number(place, 0);
    return at(place++).is(")") ? value : std::nullopt;
  }
  if (token.is_name()) {
    if ((token.is("u32") || token.is("i32")) && at(place).is("(")) return read_operand(place);
    if (token.is("max") && at(place).is("(")) return read_greatest(place);
    return constant(token.text);
  }
  std::string_view digits = token.text;
  if (!digits.empty() && (digits.back() == 'u' || digits.back() == 'i')) digits.remove_suffix(1);
  const bool hex = digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X";
  if (hex) digits.remove_prefix(2);
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'          ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : -1;
    if (digit < 0) return std::nullopt;
    value = value * (hex ? 16 : 10) + static_cast<std::uint64_t>(digit);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace tilewright::webgpu
