#include "gpu/kernel_files.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/environment.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

/// Nothing where there is no such file.
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  try {
    return std::string(std::istreambuf_iterator<char>(file), {});
  } catch (const std::exception&) {
    throw KernelError(text(path, " cannot be read; TILEWRIGHT_KERNEL_DIR names its folder"));
  }
}

}  // namespace

void check_kernel_folder() {
  const auto folder = environment("TILEWRIGHT_KERNEL_DIR");
  if (!folder) return;
  const auto files = embedded_kernel_files();
  const bool any = std::any_of(files.begin(), files.end(), [&](const KernelFile& file) {
    return std::ifstream(text(*folder, "/", file.name)).is_open();
  });
  if (!any) {
    throw KernelError(text("TILEWRIGHT_KERNEL_DIR is \"", *folder,
                           "\", where there is no kernel file such as ", files.front().name,
                           "; correct or unset it"));
  }
}

std::string kernel_file(std::string_view name) {
  if (const auto folder = environment("TILEWRIGHT_KERNEL_DIR")) {
    if (auto content = read_file(text(*folder, "/", name))) return *content;
  }
  for (const KernelFile& file : embedded_kernel_files()) {
    if (file.name == name) return std::string(file.text);
  }
  throw KernelError(text("no kernel file is named ", name));
}

std::string kernel_files_fingerprint() {
  std::uint64_t hash = hash_of("");
  for (const KernelFile& file : embedded_kernel_files()) {
    hash = hash_of(kernel_file(file.name), hash_of(file.name, hash));
  }
  return hexadecimal(hash);
}

}  // namespace tilewright::gpu
