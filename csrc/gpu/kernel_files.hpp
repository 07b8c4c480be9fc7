#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tilewright::gpu {

struct KernelFile {
  std::string_view name;
  std::string_view text;
};

/// The files of csrc/kernels/wgsl, as they were at build time.
std::span<const KernelFile> embedded_kernel_files();

/// Throws KernelError where TILEWRIGHT_KERNEL_DIR is set to a folder without any kernel file.
void check_kernel_folder();

/// The text of a kernel file: from the folder TILEWRIGHT_KERNEL_DIR where that has it, else the
/// embedded one. Throws KernelError.
std::string kernel_file(std::string_view name);

/// Tells these kernel files from others.
std::string kernel_files_fingerprint();

}  // namespace tilewright::gpu
