#include "gpu/template.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr int max_include_depth = 16;
constexpr std::int64_t max_number = std::int64_t{1} << 48;
constexpr std::size_t max_text = 1000;
constexpr int max_nested = 64;  // directives, and brackets and signs of an expression
constexpr std::size_t max_expanded_bytes = 8 << 20;
/// Bytes and lines that may be gone through, in loops and files again each time: this library's own
/// kernels need a few ten thousand.
constexpr std::size_t max_work = 32 << 20;
constexpr std::size_t work_of_a_file = 1024;

/// Where an error is.
struct Place {
  std::string_view file;
  int line;
};

struct Line {
  std::string_view text;
  Place at;
};

[[noreturn]] void fail(const Place& at, const std::string& what) {
  throw KernelError(text(at.file, ":", at.line, ": ", what));
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

/// One expression, by precedence climbing.
class Expression {
 public:
  Expression(std::string_view source, const TemplateVariables& variables, const Place& at)
      : source_(source), rest_(source), variables_(variables), at_(at) {}

  TemplateValue value() {
    TemplateValue result = binary(0);
    if (!peek().empty()) bad();
    return result;
  }

 private:
  static int precedence(std::string_view op) {
    if (op == "||") return 1;
    if (op == "&&") return 2;
    if (op == "==" || op == "!=") return 3;
    if (op == "<" || op == "<=" || op == ">" || op == ">=") return 4;
    if (op == "+" || op == "-") return 5;
    if (op == "*" || op == "/" || op == "%") return 6;
    return 0;
  }

  /// The next token, not taken; empty at the end.
  std::string_view peek() {
    rest_ = trimmed(rest_);
    if (rest_.empty()) return rest_;
    std::size_t length = 1;
    if (is_name_character(rest_[0])) {
      while (length < rest_.size() && is_name_character(rest_[length])) ++length;
    } else if (rest_[0] == '"') {
      const std::size_t end = rest_.find('"', 1);
      if (end == std::string_view::npos) bad();
      length = end + 1;
    } else if (rest_.size() > 1 && precedence(rest_.substr(0, 2)) != 0) {
      length = 2;
    }
    return rest_.substr(0, length);
  }

  std::string_view take() {
    const std::string_view token = peek();
    rest_.remove_prefix(token.size());
    return token;
  }

  TemplateValue binary(int lowest) {
    TemplateValue left = unary();
    for (;;) {
      const std::string_view op = peek();
      const int level = precedence(op);
      if (level == 0 || level <= lowest) return left;
      take();
      const TemplateValue right = binary(level);
      left = apply(op, left, right);
    }
  }

  TemplateValue unary() {
    const std::string_view token = take();
    if (token.empty()) bad();
    if (token == "!" || token == "-" || token == "(") {
      if (++nested_ > max_nested) {
        fail(at_, text("an expression nests more than ", max_nested, " brackets and signs"));
      }
      TemplateValue inner = token == "(" ? binary(0) : unary();
      --nested_;
      if (token == "!") return std::int64_t{number(inner) == 0};
      if (token == "-") return -number(inner);
      if (take() != ")") bad();
      return inner;
    }
    if (token[0] == '"') {
      if (token.size() > max_text) fail(at_, text("a text has more than ", max_text, " bytes"));
      return std::string(token.substr(1, token.size() - 2));
    }
    if (std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
      std::int64_t n = 0;
      for (char c : token) {
        if (std::isdigit(static_cast<unsigned char>(c)) == 0) bad();
        n = bounded(n * 10 + (c - '0'));
      }
      return n;
    }
    const auto found = variables_.find(token);
    if (found == variables_.end()) fail(at_, text("no variable is named ", token));
    return found->second;
  }

  std::int64_t number(const TemplateValue& value) const {
    if (const auto* n = std::get_if<std::int64_t>(&value)) return *n;
    fail(at_, text("\"", std::get<std::string>(value), "\" is used as a number in ", source_));
  }

  TemplateValue apply(std::string_view op, const TemplateValue& left,
                      const TemplateValue& right) const {
    if (op == "==") return std::int64_t{left == right};
    if (op == "!=") return std::int64_t{left != right};
    const std::int64_t a = number(left);
    const std::int64_t b = number(right);
    if (op == "||") return std::int64_t{a != 0 || b != 0};
    if (op == "&&") return std::int64_t{a != 0 && b != 0};
    if (op == "<") return std::int64_t{a < b};
    if (op == "<=") return std::int64_t{a <= b};
    if (op == ">") return std::int64_t{a > b};
    if (op == ">=") return std::int64_t{a >= b};
    if (op == "+") return bounded(a + b);
    if (op == "-") return bounded(a - b);
    if (op == "*") {
      return bounded(b == 0 || std::abs(a) <= max_number / std::abs(b) ? a * b : max_number + 1);
    }
    if (b == 0) fail(at_, text("division by zero in ", source_));
    return op == "/" ? a / b : a % b;
  }

  /// Values stay so small that no sum or quotient of two leaves 64 bits.
  std::int64_t bounded(std::int64_t n) const {
    if (std::abs(n) > max_number) fail(at_, text("a number is too large in ", source_));
    return n;
  }

  [[noreturn]] void bad() const { fail(at_, text("cannot read the expression ", source_)); }

  std::string_view source_, rest_;
  const TemplateVariables& variables_;
  const Place& at_;
  int nested_ = 0;
};

/// The first word of a directive, empty where the line is none.
std::string_view directive(std::string_view line) {
  if (line.empty() || line[0] != '#') return {};
  std::size_t end = 1;
  while (end < line.size() && is_name_character(line[end])) ++end;
  return line.substr(1, end - 1);
}

class Expander {
 public:
  Expander(const TemplateVariables& variables, const TemplateLoader& load)
      : variables_(variables), load_(load) {}

  void file(std::string_view name) {
    const Place top{name, 1};
    if (++depth_ > max_include_depth) fail(top, "#include goes round in a circle");
    const std::string content = load_(name);
    count(work_of_a_file + content.size(), top);
    const std::uint32_t outer = std::exchange(file_, number_of(name));
    std::vector<Line> lines;
    std::size_t start = 0;
    for (int number = 1; start < content.size(); ++number) {
      const std::size_t end = std::min(content.find('\n', start), content.size());
      lines.push_back({std::string_view(content).substr(start, end - start), {name, number}});
      start = end + 1;
    }
    block(lines, 0, lines.size());
    file_ = outer;
    --depth_;
  }

  ExpandedText take() { return std::move(out_); }

 private:
  TemplateValue evaluate(std::string_view expression, const Place& at) const {
    return Expression(expression, variables_, at).value();
  }

  std::int64_t number(std::string_view expression, const Place& at) const {
    const TemplateValue value = evaluate(expression, at);
    if (const auto* n = std::get_if<std::int64_t>(&value)) return *n;
    fail(at, text(expression, " is not a number"));
  }

  std::uint32_t number_of(std::string_view name) {
    const auto found = std::ranges::find(out_.files, name);
    const auto number = static_cast<std::uint32_t>(found - out_.files.begin());
    if (found == out_.files.end()) out_.files.emplace_back(name);
    return number;
  }

  void count(std::size_t work, const Place& at) {
    work_ += work;
    if (work_ > max_work) fail(at, "the loops and files of a kernel go through too many lines");
  }

  /// The index of the #end (or, with `branches`, the #elif or #else) that belongs to line `start`.
  std::size_t partner(const std::vector<Line>& lines, std::size_t start, std::size_t end,
                      bool branches) {
    int depth = 0;
    for (std::size_t i = start + 1; i < end; ++i) {
      count(1, lines[start].at);
      const std::string_view word = directive(lines[i].text);
      if (word == "if" || word == "for") ++depth;
      if (depth == 0 && (word == "end" || (branches && (word == "elif" || word == "else")))) {
        return i;
      }
      if (word == "end") --depth;
    }
    fail(lines[start].at, text("#", directive(lines[start].text), " has no #end"));
  }

  void block(const std::vector<Line>& lines, std::size_t begin, std::size_t end) {
    if (begin < end && ++nested_ > max_nested) {
      fail(lines[begin].at, text("directives nest more than ", max_nested, " deep"));
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Line& line = lines[i];
      count(line.text.size() + 1, line.at);
      const std::string_view word = directive(line.text);
      const std::string_view rest = word.empty() ? "" : trimmed(line.text.substr(word.size() + 1));
      if (word.empty()) {
        write(line);
      } else if (word == "if") {
        i = branch(lines, i, end);
      } else if (word == "for") {
        i = loop(lines, i, end, rest);
      } else if (word == "let") {
        const std::size_t equals = rest.find('=');
        if (equals == std::string_view::npos) fail(line.at, "expected #let NAME = EXPR");
        variables_.insert_or_assign(std::string(trimmed(rest.substr(0, equals))),
                                    evaluate(rest.substr(equals + 1), line.at));
      } else if (word == "include") {
        if (rest.size() < 2 || rest.front() != '"' || rest.back() != '"') {
          fail(line.at, "expected #include \"FILE\"");
        }
        file(rest.substr(1, rest.size() - 2));
      } else {
        fail(line.at, text("#", word, " is no directive, or has no #if or #for before it"));
      }
    }
    if (begin < end) --nested_;
  }

  std::size_t branch(const std::vector<Line>& lines, std::size_t at, std::size_t end) {
    bool done = false;
    for (;;) {
      const Line& line = lines[at];
      const std::string_view word = directive(line.text);
      if (word == "end") return at;
      count(line.text.size(), line.at);
      const std::size_t next = partner(lines, at, end, true);
      const bool holds =
          word == "else" || (!done && number(line.text.substr(word.size() + 1), line.at) != 0);
      if (holds && !done) {
        done = true;
        block(lines, at + 1, next);
      }
      at = next;
    }
  }

  std::size_t loop(const std::vector<Line>& lines, std::size_t at, std::size_t end,
                   std::string_view rest) {
    const Place& place = lines[at].at;
    const std::size_t in = rest.find(" in ");
    const std::size_t dots = rest.find("..");
    if (in == std::string_view::npos || dots == std::string_view::npos || dots < in + 4) {
      fail(place, "expected #for NAME in FROM..TO");
    }
    const std::string name(trimmed(rest.substr(0, in)));
    const std::int64_t first = number(rest.substr(in + 4, dots - in - 4), place);
    const std::int64_t last = number(rest.substr(dots + 2), place);
    const std::size_t close = partner(lines, at, end, false);
    for (std::int64_t i = first; i < last; ++i) {
      count(1, place);
      variables_.insert_or_assign(name, i);
      block(lines, at + 1, close);
    }
    variables_.erase(name);
    return close;
  }

  void write(const Line& line) {
    std::string_view rest = line.text;
    for (std::size_t open = rest.find("${"); open != std::string_view::npos;
         open = rest.find("${")) {
      const std::size_t close = rest.find('}', open);
      if (close == std::string_view::npos) fail(line.at, "${ has no }");
      out_.text += rest.substr(0, open);
      const TemplateValue value = evaluate(rest.substr(open + 2, close - open - 2), line.at);
      if (const auto* n = std::get_if<std::int64_t>(&value)) {
        out_.text += std::to_string(*n);
      } else {
        out_.text += std::get<std::string>(value);
      }
      check_size(line.at);
      rest.remove_prefix(close + 1);
    }
    out_.text += rest;
    out_.text += '\n';
    out_.lines.push_back({file_, line.at.line});
    check_size(line.at);
  }

  void check_size(const Place& at) const {
    if (out_.text.size() > max_expanded_bytes) fail(at, "the kernel expands to over 8 MiB");
  }

  TemplateVariables variables_;
  const TemplateLoader& load_;
  int depth_ = 0, nested_ = 0;
  std::uint32_t file_ = 0;
  std::size_t work_ = 0;
  ExpandedText out_;
};

}  // namespace

ExpandedText expand_template(std::string_view file, const TemplateVariables& variables,
                             const TemplateLoader& load) {
  Expander expander(variables, load);
  expander.file(file);
  return expander.take();
}

std::string ExpandedText::place(std::size_t line) const {
  if (line != 0 && lines.empty() && !files.empty()) return tilewright::text(files[0], ":", line);
  if (line == 0 || line > lines.size()) return {};
  const SourceLine& from = lines[line - 1];
  return tilewright::text(files[from.file], ":", from.line);
}

std::string locate_in_sources(std::string_view log, const ExpandedText& code) {
  constexpr std::string_view mark = "wgsl:";
  constexpr std::size_t most_digits = 9;
  std::string out;
  while (!log.empty()) {
    const std::size_t found = log.find(mark);
    out += log.substr(0, found);
    if (found == std::string_view::npos) break;
    log.remove_prefix(found + mark.size());
    std::size_t digits = 0;
    std::size_t number = 0;
    while (digits < std::min(log.size(), most_digits) &&
           std::isdigit(static_cast<unsigned char>(log[digits])) != 0) {
      number = number * 10 + static_cast<std::size_t>(log[digits++] - '0');
    }
    const std::string place = code.place(number);
    out += place.empty() ? mark : place;
    if (!place.empty()) log.remove_prefix(digits);
  }
  return out;
}

}  // namespace tilewright::gpu
