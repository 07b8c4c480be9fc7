#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "core/files.hpp"
#include "core/text.hpp"
#include "level_zero/native_binaries.hpp"
#include "scoped_environment.hpp"

namespace tilewright::level_zero {
namespace {

std::string new_folder() {
  char folder[] = "/tmp/tilewright-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  return folder;
}

const std::string binary("\0binary\n\n\xff of a kernel", 22);

/// The one file that a cache holds.
std::string only_file(const std::string& folder) {
  std::string found;
  for (int i = 0; i < 2048; ++i) {
    const std::string path = text(folder, "/level-zero/", i, ".bin");
    if (std::ifstream(path)) {
      CHECK(found.empty());
      found = path;
    }
  }
  return found;
}

TEST_CASE("level-zero binaries: what was kept is found again, by its whole key") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", (folder + "/new/er").c_str());
  const NativeBinaries one("device driver 1");
  CHECK(one.read("key").empty());
  one.write("key", binary);
  CHECK(one.read("key") == binary);
  CHECK(one.read("another key").empty());
  CHECK(NativeBinaries("device driver 1").read("key") == binary);
  CHECK(NativeBinaries("device driver 2").read("key").empty());
  one.write("key", "newer");
  CHECK(one.read("key") == "newer");
}

TEST_CASE("level-zero binaries: a damaged file is as good as none") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const NativeBinaries binaries("device");
  binaries.write("key", binary);
  const std::string path = only_file(folder);
  const std::string whole = read_file(path, 1000).value();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string wrong = whole;
    wrong[i] = static_cast<char>(wrong[i] ^ 4);
    std::ofstream(path, std::ios::binary) << wrong;
    CHECK(binaries.read("key").empty());
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    CHECK(binaries.read("key").empty());
  }
  std::ofstream(path, std::ios::binary) << whole;
  CHECK(binaries.read("key") == binary);
  REQUIRE(truncate(path.c_str(), off_t{1} << 40) == 0);
  CHECK(binaries.read("key").empty());
}

TEST_CASE("level-zero binaries: what is no file is as good as none") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const NativeBinaries binaries("device");
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
}

TEST_CASE("level-zero binaries: where nothing can be kept, nothing is") {
  const std::string folder = new_folder();
  std::ofstream(folder + "/file") << "no folder";
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", (folder + "/file").c_str());
  const NativeBinaries binaries("device");
  binaries.write("key", binary);
  CHECK(binaries.read("key").empty());
}

TEST_CASE("level-zero binaries: their number and size have bounds") {
  const std::string folder = new_folder();
  const ScopedEnvironment set("TILEWRIGHT_CACHE_DIR", folder.c_str());
  const NativeBinaries binaries("device");
  binaries.write("large", std::string((1 << 20) + 1, 'x'));
  CHECK(binaries.read("large").empty());
  CHECK(only_file(folder).empty());
}

TEST_CASE("fingerprints tell texts apart") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(fingerprint(std::string(static_cast<std::size_t>(i), 'a')));
  CHECK(seen.size() == 1000);
  CHECK(seen.begin()->size() == 32);
}

}  // namespace
}  // namespace tilewright::level_zero
