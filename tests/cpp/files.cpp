#include "core/files.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/dynamic_library.hpp"
#include "new_folder.hpp"

namespace tilewright {
namespace {

std::string named_pipe() {
  const std::string path = new_folder() + "/pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  return path;
}

std::string why_not(const std::string& path, std::size_t most_bytes = 100) {
  try {
    (void)read_file(path, most_bytes);
  } catch (const UnreadableFile& error) {
    return error.what();
  }
  return "it was read";
}

/// Lets this process take 4 GiB of address space more. Sanitizers have taken much for themselves.
class LittleRoom {
 public:
  LittleRoom() {
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    REQUIRE(pages > 0);
    rlimit room = before_;
    room.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{4} << 30);
    REQUIRE(setrlimit(RLIMIT_AS, &room) == 0);
  }
  ~LittleRoom() { setrlimit(RLIMIT_AS, &before_); }
  LittleRoom(const LittleRoom&) = delete;
  LittleRoom& operator=(const LittleRoom&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("files: all of one is read, up to the bytes that are allowed") {
  const std::string path = joined(new_folder(), "file");
  CHECK_FALSE(read_file(path, 100).has_value());
  CHECK_FALSE(read_file(path + "/in/it", 100).has_value());
  const std::string content("a\0b\n\xff", 5);
  REQUIRE(replace_file(path, content));
  CHECK(read_file(path, 5) == content);
  CHECK(why_not(path, 4) == "is larger than 4 bytes");
  REQUIRE(replace_file(path, ""));
  CHECK(read_file(path, 0) == "");
  const std::string large(200'000, 'x');
  REQUIRE(replace_file(path, large));
  CHECK(read_file(path, 1 << 20) == large);
}

TEST_CASE("files: what is no file is not opened, and what has no end is not read") {
  CHECK(why_not(named_pipe()) == "is a named pipe");
  CHECK(why_not(new_folder()) == "is a folder");
  CHECK(why_not("/dev/zero") == "is a device");
  // It says that it holds 0 bytes.
  CHECK(why_not("/proc/self/maps") == "is larger than 100 bytes");
}

TEST_CASE("files: of a huge one no more is read than is allowed") {
  const std::string path = joined(new_folder(), "file");
  std::ofstream(path) << "x";
  REQUIRE(truncate(path.c_str(), off_t{1} << 40) == 0);
  const LittleRoom here;
  CHECK(why_not(path) == "is larger than 100 bytes");
}

TEST_CASE("files: a library is a file") {
  const DynamicLibrary pipe(named_pipe());
  CHECK_FALSE(pipe);
  CHECK(pipe.error() == "is a named pipe");
  CHECK(DynamicLibrary("/").error() == "is a folder");
  CHECK(DynamicLibrary("/dev/zero").error() == "is a device");
}

}  // namespace
}  // namespace tilewright
