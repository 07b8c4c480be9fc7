#include "core/kept_files.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/choice_file.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace tilewright {

namespace {

constexpr std::string_view format = "tilewright kernel 1";

std::string folder_in_cache(std::string_view name) {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : joined(cache, name);
}

}  // namespace

std::string fingerprint(std::string_view text) {
  constexpr std::uint64_t another_start = 0x9e3779b97f4a7c15;
  return hexadecimal(hash_of(text)) + hexadecimal(hash_of(text, another_start));
}

KeptFiles::KeptFiles(std::string_view folder, std::string maker)
    : name_(folder), maker_(std::move(maker)), folder_(folder_in_cache(folder)) {}

std::string KeptFiles::head_of(std::string_view key) const {
  return text(format, "\n", maker_, "\n", key.size(), " ", key, "\n");
}

std::string KeptFiles::path_of(std::string_view head) const {
  return joined(folder_, text(hexadecimal(hash_of(head)), ".bin"));
}

std::string KeptFiles::read(std::string_view key) const noexcept {
  if (folder_.empty()) return {};
  try {
    const std::string head = head_of(key);
    const std::string path = path_of(head);
    // What is in front of a content is its head and its fingerprint's line.
    constexpr std::size_t line = 64;
    std::optional<std::string> file;
    try {
      file = read_file(path, head.size() + line + most_bytes);
    } catch (const UnreadableFile& error) {
      log(LogLevel::debug, text(name_, ": ", path, " ", error.what()));
    }
    if (!file) return {};
    if (file->starts_with(head)) {
      const std::size_t end = file->find('\n', head.size());
      if (end != std::string::npos) {
        std::string content = file->substr(end + 1);
        if (std::string_view(*file).substr(head.size(), end - head.size()) ==
            fingerprint(content)) {
          log(LogLevel::debug, text(name_, ": ", path, " is used"));
          return content;
        }
      }
    }
    log(LogLevel::debug, text(name_, ": ", path, " is damaged and removed"));
    std::remove(path.c_str());
  } catch (const std::exception&) {
    // No memory for it: it is compiled again.
  }
  return {};
}

void KeptFiles::make_room() const {
  namespace fs = std::filesystem;
  std::error_code error;
  std::size_t count = 0;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error)) {
    ++count;
  }
  if (count < most_files) return;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    const fs::file_time_type time = fs::last_write_time(file->path(), gone);
    if (!gone && file->is_regular_file(gone)) files.emplace_back(time, file->path());
  }
  const std::size_t going = std::min(files.size(), count - most_files + most_files / 8);
  std::partial_sort(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(going), files.end());
  files.resize(going);
  for (const auto& [time, path] : files) fs::remove(path, error);
}

void KeptFiles::write(std::string_view key, std::string_view content) const noexcept {
  if (folder_.empty() || content.empty() || content.size() > most_bytes) return;
  try {
    const std::string head = head_of(key);
    const std::string path = path_of(head);
    bool done = make_folders(folder_);
    if (done) {
      make_room();
      done = replace_file(path, text(head, fingerprint(content), "\n", content));
    }
    log(LogLevel::debug, text(name_, ": ", path, done ? " is written" : " cannot be written"));
  } catch (const std::exception&) {
    // No memory for the text: it is compiled again next time.
  }
}

}  // namespace tilewright
