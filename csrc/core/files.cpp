#include "core/files.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/text.hpp"

#if defined(_WIN32)
#include <direct.h>
#include <process.h>
#include <windows.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace tilewright {

namespace {

#if defined(_WIN32)
constexpr char separator = '\\';
bool make_folder(const std::string& path) { return _mkdir(path.c_str()) == 0 || errno == EEXIST; }
bool rename_over(const std::string& from, const std::string& to) {
  return MoveFileExA(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING) != 0;
}
int own_process() { return _getpid(); }
#else
constexpr char separator = '/';
bool make_folder(const std::string& path) {
  return mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}
bool rename_over(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}
int own_process() { return getpid(); }
#endif

}  // namespace

std::string joined(std::string folder, std::string_view name) {
  folder += separator;
  folder += name;
  return folder;
}

std::string no_file(const std::string& path) {
  std::error_code error;
  switch (std::filesystem::status(path, error).type()) {
    case std::filesystem::file_type::directory:
      return "is a folder";
    case std::filesystem::file_type::fifo:
      return "is a named pipe";
    case std::filesystem::file_type::block:
    case std::filesystem::file_type::character:
      return "is a device";
    case std::filesystem::file_type::socket:
      return "is a socket";
    case std::filesystem::file_type::unknown:
      return "is no file";
    default:
      return {};
  }
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::optional<std::string> read_file(const std::string& path, std::size_t most_bytes) {
  if (!exists(path)) return std::nullopt;
  if (const std::string why = no_file(path); !why.empty()) throw UnreadableFile(why);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UnreadableFile("cannot be read");
  // Files of the system say that they hold nothing, so the size is found out by reading.
  std::string content;
  constexpr std::size_t piece = 64 << 10;
  while (file && content.size() <= most_bytes) {
    const std::size_t before = content.size();
    content.resize(before + std::min(piece, most_bytes + 1 - before));
    file.read(content.data() + before, static_cast<std::streamsize>(content.size() - before));
    content.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw UnreadableFile("cannot be read");
  if (content.size() > most_bytes) {
    throw UnreadableFile(text("is larger than ", most_bytes, " bytes"));
  }
  return content;
}

bool make_folders(const std::string& path) {
  if (make_folder(path)) return true;
  const std::size_t end = path.find_last_of("/\\");
  if (end == std::string::npos || end == 0) return false;
  return make_folders(path.substr(0, end)) && make_folder(path);
}

bool replace_file(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> number{0};
  const std::string part = text(path, ".", own_process(), ".", number++);
  std::ofstream file(part, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file && rename_over(part, path)) return true;
  std::remove(part.c_str());
  return false;
}

}  // namespace tilewright
