#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace tilewright::gpu {

/// kernels/wgsl/program_functions.wgsl, of which a kernel gets what it calls and no more.
class WgslFunctions {
 public:
  WgslFunctions();

  bool has(std::string_view name) const { return declarations_.count(name) != 0; }
  /// The name again; its declaration and what that uses go into text(). Throws KernelError where
  /// there is none.
  std::string name(std::string_view name);
  std::string call(std::string_view function, std::string_view argument);
  std::string text() const;

 private:
  struct Declaration {
    std::size_t place;  // among all
    std::string_view text;
  };
  void use(std::string_view name);

  const std::string file_;
  std::map<std::string_view, Declaration> declarations_;  // in file_
  std::map<std::size_t, std::string_view> used_;          // their texts by place
};

}  // namespace tilewright::gpu
