#include "webgpu/wgsl_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "core/text.hpp"
#include "core/utf8.hpp"
#include "tilewright/error.hpp"

namespace tilewright::webgpu {

namespace {

// The compiler's recursion, in a stack of 1 MiB, was seen to hold 128 levels of brackets and 512
// operators in one expression; threads may have half of that.
constexpr std::size_t most_brackets = 64;
constexpr int most_operators = 250;
constexpr int most_names = 2000;
constexpr std::size_t most_bytes = 1 << 20;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool declares(const Token& token) {
  return token.is("alias") || token.is("const") || token.is("fn") || token.is("override") ||
         token.is("struct") || token.is("var");
}

/// The length of the token that starts the text.
std::size_t token_length(std::string_view text) {
  std::size_t length = 1;
  const bool number = is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]));
  if (number) {
    const bool hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
    for (; length < text.size(); ++length) {
      const char c = text[length];
      const char before = text[length - 1];
      const bool exponent = hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
      if (!in_name(c) && c != '.' && !((c == '+' || c == '-') && exponent)) break;
    }
  } else if (in_name(text[0])) {
    while (length < text.size() && in_name(text[length])) ++length;
  }
  return length;
}

/// The length of the comment that starts the text, 0 where none does. Block comments nest.
std::size_t comment_length(std::string_view text) {
  if (text.substr(0, 2) == "//") return std::min(text.find('\n'), text.size());
  if (text.substr(0, 2) != "/*") return 0;
  std::size_t at = 2;
  for (int depth = 1; depth > 0; ++at) {
    if (at >= text.size()) return text.size();
    const std::string_view two = text.substr(at, 2);
    if (two != "/*" && two != "*/") continue;
    depth += two == "/*" ? 1 : -1;
    ++at;
  }
  return at;
}

}  // namespace

bool Token::is_name() const { return !text.empty() && in_name(text[0]) && !is_digit(text[0]); }

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t length = comment_length(rest);
    if (length != 0) {
      line += static_cast<int>(std::count(rest.begin(), rest.begin() + length, '\n'));
    } else if (std::isspace(static_cast<unsigned char>(rest[0])) != 0) {
      length = 1;
      if (rest[0] == '\n') ++line;
    } else {
      length = token_length(rest);
      tokens.push_back({rest.substr(0, length), line});
    }
    at += length;
  }
  return tokens;
}

void check_bytes(const gpu::ExpandedText& code) {
  const std::string_view whole = code.text;
  constexpr std::string_view spirv = "\x03\x02\x23\x07";
  if (whole.substr(0, 4) == spirv) {
    refuse(code, 1, "this is a SPIR-V module, but the webgpu backend takes WGSL text");
  }
  if (whole.size() > most_bytes) refuse(code, 1, "the kernel is larger than 1 MiB");
  if (const std::size_t nul = whole.find('\0'); nul != std::string_view::npos) {
    const auto line = std::count(whole.begin(), whole.begin() + nul, '\n') + 1;
    refuse(code, static_cast<int>(line), "there is a NUL in the text, expected WGSL");
  }
  if (!is_utf8(whole)) refuse(code, 1, "the text is no valid UTF-8, expected WGSL");
}

void check_nesting(const gpu::ExpandedText& code, const std::vector<Token>& tokens) {
  std::vector<int> operators{0};  // of the open expressions, one for each open bracket
  int all = 0;
  int names = 0;
  const auto restart = [&] {
    all -= operators.back();
    operators.back() = 0;
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const char c = token.text[0];
    if (operators.size() == 1 && declares(token) && ++names > most_names) {
      refuse(code, token.line, text("more than ", most_names, " names are declared; split it"));
    }
    if (c == ')' || c == ']' || c == '}') {
      restart();
      if (operators.size() > 1) operators.pop_back();
      const bool goes_on = c != '}' || (i + 1 < tokens.size() && tokens[i + 1].is("else"));
      if (!goes_on) restart();
    } else if (c == ',' || c == ';') {
      restart();
    } else if (!in_name(c) || token.is("else")) {
      ++operators.back();
      if (++all > most_operators) {
        refuse(code, token.line,
               text("an expression or a chain of else has more than ", most_operators,
                    " operators; split it"));
      }
      if (c == '(' || c == '[' || c == '{') operators.push_back(0);
      if (operators.size() > most_brackets) {
        refuse(code, token.line, text("more than ", most_brackets, " brackets are open; split it"));
      }
    }
  }
}

void refuse(const gpu::ExpandedText& code, int line, std::string_view what) {
  const std::string place = code.place(static_cast<std::size_t>(line));
  throw KernelError(place.empty() ? std::string(what) : text(place, ": ", what));
}

}  // namespace tilewright::webgpu
