#include "core/text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <locale>
#include <string>

namespace tilewright {
namespace {

/// Numbers as some languages write them.
struct Grouped : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("text: numbers are C's, whatever the program's locale is") {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const std::string found = text("let t = ", std::uint32_t{1234567}, "u + ", 0.5, ", ", -70000);
  std::locale::global(before);
  CHECK(found == "let t = 1234567u + 0.5, -70000");
}

}  // namespace
}  // namespace tilewright
