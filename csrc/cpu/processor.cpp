#include "cpu/processor.hpp"

#include <algorithm>
#include <fstream>
#include <locale>
#include <sstream>
#include <thread>

#include "core/environment.hpp"
#include "core/kept.hpp"
#include "core/text.hpp"
#include "tilewright/error.hpp"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace tilewright::cpu {

namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Isa detected_isa() {
#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd")) {
    return Isa::avx512;
  }
  return Isa::avx2;
#else
  return Isa::baseline;
#endif
}

}  // namespace

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "?";
}

Isa usable_isa() {
  static constinit Kept<Isa> isa;
  return isa.get([] {
    const Isa detected = detected_isa();
    const auto wanted = environment_word("TILEWRIGHT_CPU_ISA", {"baseline", "avx2", "avx512"});
    if (!wanted) return detected;
    for (Isa candidate : {Isa::baseline, Isa::avx2, Isa::avx512}) {
      if (*wanted == to_string(candidate) && candidate <= detected) return candidate;
    }
    throw InvalidArgument(text("TILEWRIGHT_CPU_ISA is \"", *wanted, "\", but this processor has ",
                               to_string(detected), " at most"));
  });
}

bool is_intel() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) {
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
    }
  }
#if defined(__aarch64__)
  return "aarch64 processor";
#else
  return "processor";
#endif
}

std::uint64_t last_cache_bytes() {
#if defined(__linux__)
  for (const char* index : {"index3", "index2"}) {
    const std::string line =
        first_line(text("/sys/devices/system/cpu/cpu0/cache/", index, "/size").c_str());
    if (!line.empty()) {
      const std::uint64_t number = std::strtoull(line.c_str(), nullptr, 10);
      return line.back() == 'M' ? number << 20 : number << 10;
    }
  }
#endif
  return 0;
}

std::uint32_t cache_line_bytes() {
#if defined(__linux__)
  const std::string line =
      first_line("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size");
  return static_cast<std::uint32_t>(std::strtoul(line.c_str(), nullptr, 10));
#else
  return 0;
#endif
}

std::size_t usable_processors() {
  std::size_t count = std::max(1u, std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    count = static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  }
  // "quota period" in microseconds, or "max period".
  std::istringstream quota(first_line("/sys/fs/cgroup/cpu.max"));
  quota.imbue(std::locale::classic());
  double used = 0, period = 0;
  if (quota >> used >> period && used > 0 && period > 0) {
    const auto whole = static_cast<std::size_t>(used / period + 0.999);
    count = std::min(count, std::max<std::size_t>(whole, 1));
  }
#endif
  return count;
}

}  // namespace tilewright::cpu
