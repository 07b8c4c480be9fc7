#include "core/files.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>

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

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
