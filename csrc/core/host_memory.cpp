#include "core/host_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tilewright {

namespace {

/// The number behind `key` in a file of "key: value kB" lines, in bytes; 0 where absent.
std::uint64_t kilobytes(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key, 0) == 0)
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  }
  return 0;
}

/// A limit file of the control group; the largest number where there is none or it says "max".
std::uint64_t control_group_limit(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (line.empty() || line[0] < '0' || line[0] > '9') return ~std::uint64_t{0};
  return std::strtoull(line.c_str(), nullptr, 10);
}

}  // namespace

std::uint64_t usable_memory() {
  std::uint64_t bytes = kilobytes("/proc/meminfo", "MemTotal:");
  if (bytes == 0) bytes = std::uint64_t{1} << 40;
  bytes = std::min(bytes, control_group_limit("/sys/fs/cgroup/memory.max"));
  return std::min(bytes, control_group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

std::uint64_t available_memory() {
  const std::uint64_t bytes = kilobytes("/proc/meminfo", "MemAvailable:");
  return bytes == 0 ? usable_memory() : bytes;
}

}  // namespace tilewright
