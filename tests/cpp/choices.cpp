#include "core/choices.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "scoped_environment.hpp"
#include "tilewright/error.hpp"
#include "tilewright/log.hpp"

namespace tilewright {
namespace {

struct Tile {
  std::string_view name;
  int rows;
};
constexpr Tile tiles[] = {{"small", 32}, {"middle", 64}, {"large", 128}};
constexpr auto tile_names = names_of(tiles);
constexpr ChoicePoint product{"product", tile_names, {"left", "right"}};
constexpr const ChoicePoint* points[] = {&product};

std::vector<std::string> warnings;

/// A folder of results with one file in it, for Choices that are made while this lives.
class Folder {
 public:
  explicit Folder(const std::string& entries) : Folder(file().head(), entries) {}
  Folder(const std::string& head, const std::string& entries) : path_(file().path()) {
    std::ofstream(path_) << head << entries;
    warnings.clear();
    set_log_sink([](LogLevel level, std::string_view message) noexcept {
      if (level == LogLevel::warning) warnings.emplace_back(message);
    });
  }
  ~Folder() {
    set_log_sink(nullptr);
    std::remove(path_.c_str());
  }

  static ChoiceFile file() {
    // Test cases run beside each other, each in its own process.
    static const std::string driver = std::to_string(std::random_device{}());
    return ChoiceFile({{"device", "GPU/9 (discrete)"}, {"driver", driver}, {"kernels", "abc"}});
  }
  Choices choices() const { return Choices(points, file()); }

 private:
  std::string path_;
};

std::size_t picked(Choices& choices, Size rows, bool right = false) {
  return choices.pick(product, {rows, 64}, {false, right}, 0);
}

TEST_CASE("choices: shapes are sizes to the nearest power of two, and flags") {
  CHECK(ChoiceShape({1000, 1}, {}).bits() == ChoiceShape({1024, 1}, {}).bits());
  CHECK(ChoiceShape({1535}, {}).bits() == ChoiceShape({1024}, {}).bits());
  CHECK(ChoiceShape({1536}, {}).bits() == ChoiceShape({2048}, {}).bits());
  CHECK(ChoiceShape({4, 8}, {}).bits() != ChoiceShape({8, 4}, {}).bits());
  CHECK(ChoiceShape({4}, {true}).bits() != ChoiceShape({4}, {false, true}).bits());
  CHECK(ChoiceShape({4}, {}).bits() != ChoiceShape({4, 1}, {}).bits());
}

TEST_CASE("choices: shapes as text and back") {
  const std::vector<ChoiceShape> shapes{ChoiceShape({1}, {}), ChoiceShape({1000, 1, 64}, {true}),
                                        ChoiceShape({Size{1} << 40, 3}, {true, true})};
  const std::vector<std::string> texts{"1 -", "1024x1x64 left", "1099511627776x4 left+right"};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string sizes = sizes_text(shapes[i]);
    const std::string flags = flags_text(product, shapes[i]);
    CHECK(sizes + " " + flags == texts[i]);
    const auto read = shape_of(product, sizes, flags);
    REQUIRE(read.has_value());
    CHECK(read->bits() == shapes[i].bits());
  }
  for (const char* wrong : {"", "x", "4x", "x4", "3", "-4", "4xx4", "4,4", "0", "2x2x2x2x2x2x2x2x2",
                            "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(shape_of(product, wrong, "-").has_value());
  }
  for (const char* wrong : {"", "up", "left+", "+left", "left,right"}) {
    CAPTURE(wrong);
    CHECK_FALSE(shape_of(product, "4", wrong).has_value());
  }
}

TEST_CASE("choices: without a table and without tools the rule decides") {
  const ScopedEnvironment folder("TILEWRIGHT_CACHE_DIR", ".");
  Choices choices(points, Folder::file());
  CHECK_FALSE(choices.loaded().has_value());
  CHECK(choices.pick(product, {64}, {}, 2) == 2);
}

TEST_CASE("choices: the table decides for its shapes, where the candidate is admitted") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  const Folder folder(
      "product 64x64 - large  # 1.2\r\n\n# a comment\nproduct 64x64 right middle\n");
  Choices choices = folder.choices();
  CHECK(choices.loaded() == 2);
  CHECK(picked(choices, 64) == 2);
  CHECK(picked(choices, 70) == 2);
  CHECK(picked(choices, 64, true) == 1);
  CHECK(picked(choices, 128) == 0);
  const auto fits = [](std::size_t candidate) { return candidate < 2; };
  CHECK(choices.pick(product, {64, 64}, {}, 0, fits) == 0);
  CHECK(warnings.empty());
}

TEST_CASE("choices: a table can be left out") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  const ScopedEnvironment off("TILEWRIGHT_TUNING", "0");
  const Folder folder("product 64x64 - large\n");
  Choices choices = folder.choices();
  CHECK_FALSE(choices.loaded().has_value());
  CHECK(picked(choices, 64) == 0);
}

TEST_CASE("choices: a damaged file is left out as a whole, with a warning") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  for (const char* wrong :
       {"product 64x64 -\n", "product 64x64 - large large\n", "sum 64x64 - large\n",
        "product 60x64 - large\n", "product 64x64 up large\n", "product 64x64 - huge\n"}) {
    CAPTURE(wrong);
    const Folder folder(std::string("product 64x64 - large\n") + wrong);
    Choices choices = folder.choices();
    CHECK_FALSE(choices.loaded().has_value());
    CHECK(picked(choices, 64) == 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(Folder::file().path() + " is left out") == 0);
  }
}

TEST_CASE("choices: a file of another identity is left out, with a warning that names it") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  std::string head = Folder::file().head();
  head.replace(head.find("abc"), 3, "abd");
  const Folder folder(head, "product 64x64 - large\n");
  Choices choices = folder.choices();
  CHECK_FALSE(choices.loaded().has_value());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("\"kernels abd\", not of \"kernels abc\"") != std::string::npos);
}

TEST_CASE("choices: what is no such file at all is left out") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  for (const std::string& content : {std::string(), std::string("\0\xff\n", 3),
                                     std::string("tilewright tuning 1\n"), std::string("{}")}) {
    const Folder folder(content, "");
    CHECK_FALSE(folder.choices().loaded().has_value());
    CHECK(warnings.size() == 1);
  }
}

TEST_CASE("choices: what is no file, or has no end, is left out") {
  char folder[] = "/tmp/tilewright-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", folder);
  const std::string path = Folder::file().path();
  const auto left_out = [&](const char* why) {
    warnings.clear();
    set_log_sink(
        [](LogLevel, std::string_view message) noexcept { warnings.emplace_back(message); });
    CHECK_FALSE(Choices(points, Folder::file()).loaded().has_value());
    set_log_sink(nullptr);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(path + " is left out: it " + why) == 0);
    std::remove(path.c_str());
  };
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  left_out("is a folder");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  left_out("is a named pipe");
  REQUIRE(symlink("/dev/zero", path.c_str()) == 0);
  left_out("is a device");
  std::ofstream(path) << "x";
  REQUIRE(truncate(path.c_str(), off_t{1} << 40) == 0);
  left_out("is larger than 1048576 bytes");
}

TEST_CASE("choices: tools force a candidate where it is admitted, and see what was taken") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  Choices choices(points, Folder::file());
  choices.force("product", "large");
  choices.watch(true);
  CHECK(choices.pick(product, {60}, {true}, 1) == 2);
  CHECK(choices.pick(product, {8}, {}, 1, [](std::size_t i) { return i < 2; }) == 1);
  const std::vector<MadeChoice> made = choices.take_made();
  REQUIRE(made.size() == 2);
  for (const MadeChoice& one : made) {
    const bool first = one.sizes == "64";
    CHECK(one.point == "product");
    CHECK(one.flags == (first ? "left" : "-"));
    CHECK(one.rule == "middle");
    CHECK(one.taken == (first ? "large" : "middle"));
    CHECK(one.candidates.size() == (first ? 3u : 2u));
  }
  CHECK(choices.take_made().empty());
  choices.force("product", "");
  CHECK(choices.pick(product, {60}, {true}, 1) == 1);
}

TEST_CASE("choices: unknown names are refused") {
  const ScopedEnvironment where("TILEWRIGHT_CACHE_DIR", ".");
  Choices choices(points, Folder::file());
  CHECK_THROWS_WITH_AS(choices.force("sum", "large"),
                       "\"sum\" is no choice, expected one of product", InvalidArgument);
  CHECK_THROWS_WITH_AS(choices.force("product", "huge"),
                       "\"huge\" is no candidate of product, expected one of small, middle, large",
                       InvalidArgument);
}

TEST_CASE("choices: the file lies in the cache folder, named after device and driver") {
  const ScopedEnvironment cache("TILEWRIGHT_CACHE_DIR", nullptr);
  const ScopedEnvironment home("HOME", "/home/ada");
#if !defined(_WIN32) && !defined(__APPLE__)
  {
    const ScopedEnvironment xdg("XDG_CACHE_HOME", "/var/cache/ada");
    CHECK(cache_folder() == "/var/cache/ada/tilewright");
  }
  {
    const ScopedEnvironment xdg("XDG_CACHE_HOME", "not/absolute");
    CHECK(cache_folder() == "/home/ada/.cache/tilewright");
  }
  const ScopedEnvironment homeless("HOME", nullptr);
  const ScopedEnvironment xdg("XDG_CACHE_HOME", nullptr);
  CHECK(cache_folder().empty());
  CHECK(Folder::file().path().empty());
#endif
  const ScopedEnvironment own("TILEWRIGHT_CACHE_DIR", "/own");
  const std::string path = Folder::file().path();
  CHECK(path.find("/own/tuning-gpu-9-discrete-") == 0);
  const ChoiceFile other({{"device", "GPU/9 (discrete)"}, {"driver", "1.3"}});
  CHECK(other.path() != path);
  CHECK(other.path().find("/own/tuning-gpu-9-discrete-") == 0);
}

}  // namespace
}  // namespace tilewright
