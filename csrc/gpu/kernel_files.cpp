#include "gpu/kernel_files.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/environment.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

namespace {

constexpr std::size_t most_bytes = 8 << 20;

}  // namespace

void check_kernel_folder() {
  const auto folder = environment("TILEWRIGHT_KERNEL_DIR");
  if (!folder) return;
  const auto files = embedded_kernel_files();
  const bool any = std::any_of(files.begin(), files.end(), [&](const KernelFile& file) {
    return exists(text(*folder, "/", file.name));
  });
  if (!any) {
    throw KernelError(text("TILEWRIGHT_KERNEL_DIR is \"", *folder,
                           "\", where there is no kernel file such as ", files.front().name,
                           "; correct or unset it"));
  }
}

std::string kernel_file(std::string_view name) {
  if (const auto folder = environment("TILEWRIGHT_KERNEL_DIR")) {
    const std::string path = text(*folder, "/", name);
    try {
      if (auto content = read_file(path, most_bytes)) return *std::move(content);
    } catch (const UnreadableFile& error) {
      throw KernelError(text(path, " ", error.what(), "; TILEWRIGHT_KERNEL_DIR names its folder"));
    }
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
