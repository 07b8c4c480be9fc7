#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/template.hpp"

namespace tilewright::webgpu {

/// A name, a number, or one mark of a WGSL text.
struct Token {
  std::string_view text;
  int line;  ///< of the text, from 1

  bool is(std::string_view other) const { return text == other; }
  bool is_name() const;
};

/// The tokens of a text, without its comments. They point into it.
std::vector<Token> tokens_of(std::string_view text);

/// Throws KernelError for bytes that are no text, which would end the process in the compiler, and
/// for more of them than a kernel has. To be called before the text is taken apart.
void check_bytes(const gpu::ExpandedText& code);

/// Throws KernelError for text so deeply nested that the compiler's recursion leaves the stack.
void check_nesting(const gpu::ExpandedText& code, const std::vector<Token>& tokens);

/// Throws KernelError with the place in the sources of a line of the text.
[[noreturn]] void refuse(const gpu::ExpandedText& code, int line, std::string_view what);

}  // namespace tilewright::webgpu
