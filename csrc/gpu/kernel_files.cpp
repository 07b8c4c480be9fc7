#include "gpu/kernel_files.hpp"

#include <fstream>
#include <iterator>

#include "core/environment.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

std::string kernel_file(std::string_view name) {
  if (const auto folder = environment("TILEWRIGHT_KERNEL_DIR")) {
    std::ifstream file(text(*folder, "/", name), std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
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
