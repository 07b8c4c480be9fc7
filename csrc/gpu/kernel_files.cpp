#include "gpu/kernel_files.hpp"

#include <fstream>
#include <iterator>

#include "core/environment.hpp"
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

}  // namespace tilewright::gpu
