#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::gpu {

/// The template step that kernel files go through before a compiler sees them.
///
/// A line whose first character is # is a directive:
///   #if EXPR / #elif EXPR / #else / #end
///   #for NAME in FROM..TO        (TO is not reached; a variable of the loop's body) ... #end
///   #let NAME = EXPR
///   #include "FILE"
/// Elsewhere ${EXPR} is replaced by its value. Expressions have whole numbers, "text", variables,
/// + - * / % == != < <= > >= && || ! and parentheses.
using TemplateValue = std::variant<std::int64_t, std::string>;
using TemplateVariables = std::map<std::string, TemplateValue, std::less<>>;

struct SourceLine {
  std::uint32_t file = 0;  ///< its place among the files
  int line = 0;
};

struct ExpandedText {
  std::string text;
  std::vector<std::string> files;
  std::vector<SourceLine> lines;  ///< where each line comes from; none: all are the first file's

  /// "gemm.wgsl:12" for a line of the text, from 1; empty for one that came from nowhere.
  std::string place(std::size_t line) const;
};

/// Gives the text of a file of the template's folder, for #include.
using TemplateLoader = std::function<std::string(std::string_view file)>;

/// Throws KernelError naming file and line, also for what is far more than a kernel needs: of text,
/// of nested directives and brackets, and of lines that loops and #include go through.
ExpandedText expand_template(std::string_view file, const TemplateVariables& variables,
                             const TemplateLoader& load);

/// Rewrites "wgsl:LINE:COLUMN" style positions of a compiler's log to the files they come from.
std::string locate_in_sources(std::string_view log, const ExpandedText& code);

}  // namespace tilewright::gpu
