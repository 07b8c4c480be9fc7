#include "gpu/template.hpp"

#include <cctype>
#include <utility>

#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr int max_include_depth = 16;
constexpr std::size_t max_expanded_bytes = 8 << 20;

struct Line {
  std::string text;
  SourceLine from;
};

[[noreturn]] void fail(const SourceLine& at, const std::string& what) {
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
  Expression(std::string_view source, const TemplateVariables& variables, const SourceLine& at)
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
    if (token == "!") return std::int64_t{number(unary()) == 0};
    if (token == "-") return -number(unary());
    if (token == "(") {
      TemplateValue inner = binary(0);
      if (take() != ")") bad();
      return inner;
    }
    if (token[0] == '"') return std::string(token.substr(1, token.size() - 2));
    if (std::isdigit(static_cast<unsigned char>(token[0])) != 0) {
      std::int64_t n = 0;
      for (char c : token) {
        if (std::isdigit(static_cast<unsigned char>(c)) == 0) bad();
        n = n * 10 + (c - '0');
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
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (b == 0) fail(at_, text("division by zero in ", source_));
    return op == "/" ? a / b : a % b;
  }

  [[noreturn]] void bad() const { fail(at_, text("cannot read the expression ", source_)); }

  std::string_view source_, rest_;
  const TemplateVariables& variables_;
  const SourceLine& at_;
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
    if (++depth_ > max_include_depth)
      fail({std::string(name), 1}, "#include goes round in a circle");
    const std::string content = load_(name);
    std::vector<Line> lines;
    std::size_t start = 0;
    for (int number = 1; start < content.size(); ++number) {
      std::size_t end = content.find('\n', start);
      if (end == std::string::npos) end = content.size();
      lines.push_back({content.substr(start, end - start), {std::string(name), number}});
      start = end + 1;
    }
    block(lines, 0, lines.size());
    --depth_;
  }

  ExpandedText take() { return std::move(out_); }

 private:
  TemplateValue evaluate(std::string_view expression, const SourceLine& at) const {
    return Expression(expression, variables_, at).value();
  }

  std::int64_t number(std::string_view expression, const SourceLine& at) const {
    const TemplateValue value = evaluate(expression, at);
    if (const auto* n = std::get_if<std::int64_t>(&value)) return *n;
    fail(at, text(expression, " is not a number"));
  }

  /// The index of the #end (or, with `branches`, the #elif or #else) that belongs to line `start`.
  static std::size_t partner(const std::vector<Line>& lines, std::size_t start, std::size_t end,
                             bool branches) {
    int depth = 0;
    for (std::size_t i = start + 1; i < end; ++i) {
      const std::string_view word = directive(lines[i].text);
      if (word == "if" || word == "for") ++depth;
      if (depth == 0 && (word == "end" || (branches && (word == "elif" || word == "else")))) {
        return i;
      }
      if (word == "end") --depth;
    }
    fail(lines[start].from, text("#", directive(lines[start].text), " has no #end"));
  }

  void block(const std::vector<Line>& lines, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Line& line = lines[i];
      const std::string_view word = directive(line.text);
      const std::string_view rest =
          word.empty() ? "" : trimmed(std::string_view(line.text).substr(word.size() + 1));
      if (word.empty()) {
        write(line);
      } else if (word == "if") {
        i = branch(lines, i, end);
      } else if (word == "for") {
        i = loop(lines, i, end, rest);
      } else if (word == "let") {
        const std::size_t equals = rest.find('=');
        if (equals == std::string_view::npos) fail(line.from, "expected #let NAME = EXPR");
        variables_.insert_or_assign(std::string(trimmed(rest.substr(0, equals))),
                                    evaluate(rest.substr(equals + 1), line.from));
      } else if (word == "include") {
        if (rest.size() < 2 || rest.front() != '"' || rest.back() != '"') {
          fail(line.from, "expected #include \"FILE\"");
        }
        file(rest.substr(1, rest.size() - 2));
      } else {
        fail(line.from, text("#", word, " is no directive, or has no #if or #for before it"));
      }
    }
  }

  std::size_t branch(const std::vector<Line>& lines, std::size_t at, std::size_t end) {
    bool done = false;
    for (;;) {
      const Line& line = lines[at];
      const std::string_view word = directive(line.text);
      if (word == "end") return at;
      const std::size_t next = partner(lines, at, end, true);
      const bool holds =
          word == "else" ||
          (!done && number(std::string_view(line.text).substr(word.size() + 1), line.from) != 0);
      if (holds && !done) {
        done = true;
        block(lines, at + 1, next);
      }
      at = next;
    }
  }

  std::size_t loop(const std::vector<Line>& lines, std::size_t at, std::size_t end,
                   std::string_view rest) {
    const SourceLine& from = lines[at].from;
    const std::size_t in = rest.find(" in ");
    const std::size_t dots = rest.find("..");
    if (in == std::string_view::npos || dots == std::string_view::npos || dots < in) {
      fail(from, "expected #for NAME in FROM..TO");
    }
    const std::string name(trimmed(rest.substr(0, in)));
    const std::int64_t first = number(rest.substr(in + 4, dots - in - 4), from);
    const std::int64_t last = number(rest.substr(dots + 2), from);
    const std::size_t close = partner(lines, at, end, false);
    for (std::int64_t i = first; i < last; ++i) {
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
      if (close == std::string_view::npos) fail(line.from, "${ has no }");
      out_.text += rest.substr(0, open);
      const TemplateValue value = evaluate(rest.substr(open + 2, close - open - 2), line.from);
      if (const auto* n = std::get_if<std::int64_t>(&value)) {
        out_.text += std::to_string(*n);
      } else {
        out_.text += std::get<std::string>(value);
      }
      rest.remove_prefix(close + 1);
    }
    out_.text += rest;
    out_.text += '\n';
    out_.lines.push_back(line.from);
    if (out_.text.size() > max_expanded_bytes) fail(line.from, "the kernel expands to over 8 MiB");
  }

  TemplateVariables variables_;
  const TemplateLoader& load_;
  int depth_ = 0;
  ExpandedText out_;
};

}  // namespace

ExpandedText expand_template(std::string_view file, const TemplateVariables& variables,
                             const TemplateLoader& load) {
  Expander expander(variables, load);
  expander.file(file);
  return expander.take();
}

std::string locate_in_sources(std::string_view log, const std::vector<SourceLine>& lines) {
  constexpr std::string_view mark = "wgsl:";
  std::string out;
  while (!log.empty()) {
    const std::size_t found = log.find(mark);
    out += log.substr(0, found);
    if (found == std::string_view::npos) break;
    log.remove_prefix(found + mark.size());
    std::size_t digits = 0;
    std::size_t number = 0;
    while (digits < log.size() && std::isdigit(static_cast<unsigned char>(log[digits])) != 0) {
      number = number * 10 + static_cast<std::size_t>(log[digits++] - '0');
    }
    if (number == 0 || number > lines.size()) {
      out += mark;
      continue;
    }
    out += text(lines[number - 1].file, ":", lines[number - 1].line);
    log.remove_prefix(digits);
  }
  return out;
}

}  // namespace tilewright::gpu
