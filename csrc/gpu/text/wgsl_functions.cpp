#include "gpu/text/wgsl_functions.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "core/text.hpp"
#include "gpu/kernel_files.hpp"
#include "gpu/template.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && in_word(text[end])) ++end;
  return text.substr(at, end - at);
}

/// The name that a line declares, for all to see; empty where it declares nothing.
std::string_view declared(std::string_view line) {
  for (const std::string_view kind : {"fn ", "struct ", "const "}) {
    if (line.substr(0, kind.size()) == kind) return word_at(line, kind.size());
  }
  return {};
}

}  // namespace

WgslFunctions::WgslFunctions()
    : file_(expand_template("program_functions.wgsl", {}, [](std::string_view file) {
              return kernel_file(file);
            }).text) {
  const std::string_view all = file_;
  std::string_view name;
  std::size_t from = 0;
  const auto ends = [&](std::size_t at) {
    if (!name.empty()) {
      declarations_.emplace(name, Declaration{declarations_.size(), all.substr(from, at - from)});
    }
  };
  for (std::size_t line = 0; line < all.size();) {
    const std::size_t end = std::min(all.find('\n', line), all.size() - 1) + 1;
    const std::string_view next = declared(all.substr(line, end - line));
    const bool comment = all.substr(line, 2) == "//";
    if (!next.empty() || comment) {
      ends(line);
      name = next;
      from = line;
    }
    line = end;
  }
  ends(all.size());
}

void WgslFunctions::use(std::string_view name) {
  std::vector<std::string_view> waiting{name};
  while (!waiting.empty()) {
    const auto found = declarations_.find(waiting.back());
    waiting.pop_back();
    if (found == declarations_.end()) continue;
    const Declaration& declaration = found->second;
    if (!used_.emplace(declaration.place, declaration.text).second) continue;
    for (std::size_t at = 0; at < declaration.text.size();) {
      const std::string_view word = word_at(declaration.text, at);
      if (!word.empty()) waiting.push_back(word);
      at += word.empty() ? 1 : word.size();
    }
  }
}

std::string WgslFunctions::name(std::string_view name) {
  if (!has(name)) throw KernelError(tilewright::text("program_functions.wgsl has no ", name));
  use(name);
  return std::string(name);
}

std::string WgslFunctions::call(std::string_view function, std::string_view argument) {
  return tilewright::text(name(function), "(", argument, ")");
}

std::string WgslFunctions::text() const {
  std::string all;
  for (const auto& [place, declaration] : used_) all += declaration;
  return all;
}

}  // namespace tilewright::gpu
