#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// A value of JSON: what configurations and the headers of weights are written in.
class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  template <class T>
  explicit Json(T value) : value_(std::move(value)) {}

  /// The value as a bool, double, std::string, List or Object; null where it is something else.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value_);
  }
  /// The value of a key; null where this is no object, or lacks the key or has null for it.
  const Json* find(std::string_view key) const {
    const Object* object = as<Object>();
    if (object == nullptr) return nullptr;
    for (const auto& [name, value] : *object) {
      if (name == key) return value.as<std::nullptr_t>() == nullptr ? &value : nullptr;
    }
    return nullptr;
  }

 private:
  std::variant<std::nullptr_t, bool, double, std::string, List, Object> value_ = nullptr;
};

/// Reads a text; `file` is what messages call it.
class JsonParser {
 public:
  JsonParser(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  Json parse() {
    Json value = parse_value(0);
    if (peek() != '\0') fail("the end");
    return value;
  }

 private:
  static constexpr int most_levels = 64;  // so that no file takes all of the stack

  Json parse_value(int level) {
    if (level > most_levels) fail("fewer levels");
    const char first = peek();
    if (first == '{') return Json(parse_object(level));
    if (first == '[') return Json(parse_list(level));
    if (first == '"') return Json(parse_string());
    if (take_word("true")) return Json(true);
    if (take_word("false")) return Json(false);
    if (take_word("null")) return Json();
    return Json(parse_number());
  }

  Json::Object parse_object(int level) {
    Json::Object found;
    expect('{');
    if (take('}')) return found;
    do {
      std::string name = parse_string();
      expect(':');
      found.emplace_back(std::move(name), parse_value(level + 1));
    } while (take(','));
    expect('}');
    return found;
  }

  Json::List parse_list(int level) {
    Json::List found;
    expect('[');
    if (take(']')) return found;
    do found.push_back(parse_value(level + 1));
    while (take(','));
    expect(']');
    return found;
  }

  std::string parse_string() {
    std::string found;
    expect('"');
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        found += text_[at_++];
        continue;
      }
      if (++at_ == text_.size()) break;
      constexpr std::string_view names = "bfnrt", meant = "\b\f\n\r\t";
      const std::size_t which = names.find(text_[at_]);
      if (text_[at_] == 'u') found += '\\';  // no name that is asked for has any: it stays
      found += which == names.npos ? text_[at_] : meant[which];
      ++at_;
    }
    if (at_ == text_.size()) fail("a quotation mark");
    ++at_;
    return found;
  }

  double parse_number() {
    const std::string digits(
        text_.substr(at_, text_.find_first_not_of("+-.eE0123456789", at_) - at_));
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0') fail("a value");
    at_ += digits.size();
    return number;
  }

  /// The next character that is no space; 0 at the end.
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char one) {
    if (peek() != one) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(char one) {
    if (!take(one)) fail(std::string("'") + one + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error(file_ + ": at byte " + std::to_string(at_) + " of its JSON " +
                             expected + " is expected");
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
};
