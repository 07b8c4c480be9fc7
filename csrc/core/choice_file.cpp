#include "core/choice_file.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "core/environment.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace tilewright {

namespace {

constexpr std::string_view format = "tilewright tuning 1";
constexpr std::size_t most_bytes = 1 << 20;

/// "NVIDIA H200" as "nvidia-h200".
std::string as_file_name(std::string_view name) {
  std::string result;
  for (char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept) {
      result += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  result.resize(std::min<std::size_t>(result.size(), 64));
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

/// A carriage return is an editor's.
bool next_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace

std::string cache_folder() {
  if (auto folder = environment("TILEWRIGHT_CACHE_DIR")) return *folder;
#if defined(_WIN32)
  const auto folder = environment("LOCALAPPDATA");
  return folder ? joined(*folder, "tilewright") : "";
#else
  const auto home = environment("HOME");
#if defined(__APPLE__)
  return home ? *home + "/Library/Caches/tilewright" : "";
#else
  const auto folder = environment("XDG_CACHE_HOME");
  if (folder && folder->front() == '/') return joined(*folder, "tilewright");
  return home ? *home + "/.cache/tilewright" : "";
#endif
#endif
}

ChoiceFile::ChoiceFile(Identity identity) : identity_(std::move(identity)) {
  for (auto& [name, value] : identity_) value = one_line(value);
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  const std::string& device = identity_.at(0).second;
  const std::string driver =
      hexadecimal(hash_of(identity_.at(1).second, hash_of(device))).substr(0, 8);
  path_ = joined(folder, text("tuning-", as_file_name(device), "-", driver, ".txt"));
}

std::string ChoiceFile::head() const {
  std::string lines = text(format, "\n");
  for (const auto& [name, value] : identity_) lines += text(name, " ", value, "\n");
  return lines;
}

void ChoiceFile::warn(const std::string& why) const {
  log(LogLevel::warning, text(path_, " is left out: ", why, "; `tilewright tune` writes it again"));
}

std::optional<std::vector<ChoiceEntry>> ChoiceFile::read() const {
  if (path_.empty()) return std::nullopt;
  std::optional<std::string> content;
  try {
    content = read_file(path_, most_bytes);
  } catch (const UnreadableFile& error) {
    warn(text("it ", error.what()));
  }
  if (!content) return std::nullopt;
  std::istringstream in(*std::move(content));
  std::string line;
  if (!next_line(in, line) || line != format) {
    warn(text("its first line is not \"", format, "\""));
    return std::nullopt;
  }
  for (const auto& [name, value] : identity_) {
    const std::string expected = text(name, " ", value);
    if (next_line(in, line) && line == expected) continue;
    warn(text("it is of \"", line, "\", not of \"", expected, "\""));
    return std::nullopt;
  }
  std::vector<ChoiceEntry> entries;
  while (next_line(in, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    ChoiceEntry entry;
    std::string more;
    if (!(words >> entry.point)) continue;
    if (!(words >> entry.sizes >> entry.flags >> entry.candidate) || (words >> more)) {
      warn(text("\"", line, "\" is not a point, its sizes, flags and a candidate"));
      return std::nullopt;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace tilewright
