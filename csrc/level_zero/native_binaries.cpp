#include "level_zero/native_binaries.hpp"

#include <exception>
#include <utility>

#include "core/choice_file.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace tilewright::level_zero {

namespace {

constexpr std::string_view format = "tilewright kernel 1";
constexpr std::uint64_t most_files = 2048;
constexpr std::size_t most_bytes = 1 << 20;  // of a binary

std::string folder_for_kernels() {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : joined(cache, "level-zero");
}

}  // namespace

std::string fingerprint(std::string_view text) {
  constexpr std::uint64_t another_start = 0x9e3779b97f4a7c15;
  return hexadecimal(hash_of(text)) + hexadecimal(hash_of(text, another_start));
}

NativeBinaries::NativeBinaries(std::string maker)
    : maker_(std::move(maker)), folder_(folder_for_kernels()) {}

std::string NativeBinaries::head_of(std::string_view key) const {
  return text(format, "\n", maker_, "\n", key, "\n");
}

std::string NativeBinaries::path_of(std::string_view head) const {
  return joined(folder_, text(hash_of(head) % most_files, ".bin"));
}

std::string NativeBinaries::read(std::string_view key) const {
  if (folder_.empty()) return {};
  const std::string head = head_of(key);
  std::string content;
  try {
    // What is in front of a binary is its head and its fingerprint's line.
    content = read_file(path_of(head), head.size() + 64 + most_bytes).value_or("");
  } catch (const UnreadableFile& error) {
    log(LogLevel::debug, text("level-zero: ", path_of(head), " ", error.what()));
  }
  if (content.compare(0, head.size(), head) != 0) return {};
  const std::size_t start = content.find('\n', head.size());
  if (start == std::string::npos) return {};
  const std::string binary = content.substr(start + 1);
  return content.substr(head.size(), start - head.size()) == fingerprint(binary) ? binary : "";
}

void NativeBinaries::write(std::string_view key, std::string_view binary) const noexcept {
  if (folder_.empty() || binary.empty() || binary.size() > most_bytes) return;
  try {
    const std::string head = head_of(key);
    const std::string path = path_of(head);
    if (!make_folders(folder_) ||
        !replace_file(path, text(head, fingerprint(binary), "\n", binary))) {
      log(LogLevel::debug, text("level-zero: ", path, " cannot be written"));
    }
  } catch (const std::exception&) {
    // No memory for the text: it is compiled again next time.
  }
}

}  // namespace tilewright::level_zero
