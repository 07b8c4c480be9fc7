#include "core/kept_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "new_folder.hpp"
#include "scoped_environment.hpp"

namespace tilewright {
namespace {

const std::string binary("\0binary\n\n\xff of a kernel", 22);

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/kernels", none)) {
    found.push_back(file.path());
  }
  return found;
}

/// The one file that a cache holds.
std::string only_file(const std::string& folder) {
  const std::vector<std::string> found = files(folder);
  REQUIRE(found.size() == 1);
  return found.front();
}

TEST_CASE("kept files: what was kept is found again, by its whole key") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", (folder + "/new/er").c_str());
  const KeptFiles one("kernels", "device driver 1");
  CHECK(one.read("key").empty());
  one.write("key", binary);
  CHECK(one.read("key") == binary);
  CHECK(one.read("another key").empty());
  CHECK(KeptFiles("kernels", "device driver 1").read("key") == binary);
  CHECK(KeptFiles("kernels", "device driver 2").read("key").empty());
  one.write("key", "newer");
  CHECK(one.read("key") == "newer");
}

TEST_CASE("kept files: a damaged file is as good as none, and goes") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const KeptFiles binaries("kernels", "device");
  binaries.write("key", binary);
  const std::string path = only_file(folder);
  const std::string whole = read_file(path, 1000).value();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string wrong = whole;
    wrong[i] = static_cast<char>(wrong[i] ^ 4);
    std::ofstream(path, std::ios::binary) << wrong;
    CHECK(binaries.read("key").empty());
    CHECK_FALSE(exists(path));
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    CHECK(binaries.read("key").empty());
    CHECK_FALSE(exists(path));
  }
  std::ofstream(path, std::ios::binary) << whole;
  CHECK(binaries.read("key") == binary);
  REQUIRE(truncate(path.c_str(), off_t{1} << 40) == 0);
  CHECK(binaries.read("key").empty());
}

TEST_CASE("kept files: what is no file is as good as none") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const KeptFiles binaries("kernels", "device");
  binaries.write("key", binary);
  const std::string path = only_file(folder);
  std::remove(path.c_str());
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(binaries.read("key").empty());
  binaries.write("key", binary);  // takes the pipe's place
  CHECK(binaries.read("key") == binary);
  std::remove(path.c_str());
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  CHECK(binaries.read("key").empty());
  binaries.write("key", binary);
  CHECK(binaries.read("key").empty());
  CHECK(files(folder).size() == 1);
}

TEST_CASE("kept files: where nothing can be kept, nothing is") {
  const std::string folder = new_folder();
  std::ofstream(folder + "/file") << "no folder";
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", (folder + "/file").c_str());
  const KeptFiles binaries("kernels", "device");
  binaries.write("key", binary);
  CHECK(binaries.read("key").empty());
}

TEST_CASE("kept files: their number and size have bounds") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const KeptFiles binaries("kernels", "device");
  binaries.write("large", std::string(KeptFiles::most_bytes + 1, 'x'));
  CHECK(binaries.read("large").empty());
  CHECK(files(folder).empty());
  const std::string largest(KeptFiles::most_bytes, 'x');
  binaries.write("largest", largest);
  CHECK(binaries.read("largest") == largest);
  using namespace std::chrono_literals;
  const std::string first = only_file(folder);
  const auto now = std::filesystem::last_write_time(first);
  std::filesystem::last_write_time(first, now - 2h);
  // A part that a process which ended left behind, among others.
  for (std::size_t i = 1; i < KeptFiles::most_files; ++i) {
    const std::string path = text(folder, "/kernels/", i, ".bin.123.0");
    std::ofstream(path) << "part";
    std::filesystem::last_write_time(path, now - (i == 1 ? 3h : 1h));
  }
  CHECK(files(folder).size() == KeptFiles::most_files);
  CHECK(binaries.read("largest") == largest);
  binaries.write("newer", binary);
  CHECK(binaries.read("newer") == binary);
  CHECK(binaries.read("largest").empty());
  CHECK_FALSE(exists(folder + "/kernels/1.bin.123.0"));
  CHECK(files(folder).size() == KeptFiles::most_files - KeptFiles::most_files / 8 + 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("kept files: several threads and objects write one at once") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (char mark : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&wrong, mark] {
      const KeptFiles own("kernels", "device");
      for (int i = 0; i < 50; ++i) {
        own.write("key", std::string(10'000, mark));
        const std::string found = own.read("key");
        if (found.size() != 10'000 || found != std::string(10'000, found[0])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(files(folder).size() == 1);
}

TEST_CASE("kept files: keys of any bytes are told apart") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const KeptFiles binaries("kernels", "device");
  const std::string keys[] = {std::string("a\0b", 3), std::string("a\0c", 3), "a", "a\n", "\n"};
  for (const std::string& key : keys) binaries.write(key, "of " + key);
  for (const std::string& key : keys) CHECK(binaries.read(key) == "of " + key);
}

TEST_CASE("fingerprints tell texts apart") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(fingerprint(std::string(static_cast<std::size_t>(i), 'a')));
  CHECK(seen.size() == 1000);
  CHECK(seen.begin()->size() == 32);
}

}  // namespace
}  // namespace tilewright
