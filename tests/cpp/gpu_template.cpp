#include <doctest/doctest.h>

#include <map>
#include <string>

#include "gpu/template.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {
namespace {

std::string expand(const std::string& content) {
  const std::map<std::string, std::string, std::less<>> files{
      {"main", content}, {"twice", "#include \"twice\"\n#include \"twice\"\n"}, {"line", "line"}};
  const TemplateVariables variables{{"N", std::int64_t{3}}, {"T", std::string("f32")}};
  return expand_template("main", variables,
                         [&](std::string_view file) { return files.find(file)->second; })
      .text;
}

std::string why_not(const std::string& content) {
  try {
    (void)expand(content);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "it was expanded";
}

std::string repeated(const std::string& part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

TEST_CASE("templates: directives and values") {
  CHECK(expand("#if N > 2 && !(N == 4)\n${T} ${-N * 2 % 4}\n#elif 1\nb\n#else\nc\n#end\n") ==
        "f32 -2\n");
  CHECK(expand("#for I in 0..N\n#if I != 1\n${I}\n#end\n#end\n#let X = N + 1\n${X}") ==
        "0\n2\n4\n");
  CHECK(expand("#include \"line\"\nend") == "line\nend\n");
}

TEST_CASE("templates: lines know where they come from") {
  ExpandedText code{"a\nb\n", {"x.wgsl"}, {}};
  CHECK(code.place(2) == "x.wgsl:2");
  CHECK(locate_in_sources("at wgsl:2:7, wgsl:0, wgsl:99999999999999999999", code) ==
        "at x.wgsl:2:7, wgsl:0, x.wgsl:99999999999999999999");
  code.files.emplace_back("y.wgsl");
  code.lines = {{0, 4}, {1, 9}};
  CHECK(locate_in_sources("wgsl:1:1 wgsl:2:1 wgsl:3:1", code) == "x.wgsl:4:1 y.wgsl:9:1 wgsl:3:1");
}

TEST_CASE("templates: numbers that leave their range are refused") {
  for (const char* expression :
       {"9223372036854775807", "99999999999999999999999", "4294967296 * 4294967296",
        "-281474976710656 - 1", "(0 - 281474976710656) * 2"}) {
    CAPTURE(expression);
    CHECK(why_not(std::string("${") + expression + "}") ==
          std::string("main:1: a number is too large in ") + expression);
  }
  // The least number of 64 bits by -1 has no quotient.
  CHECK(why_not("#if (0 - 9223372036854775807 - 1) / (0 - 1)\n#end").find("too large") !=
        std::string::npos);
  CHECK(expand("${(0 - 281474976710656) / (0 - 1)} ${7 % (0 - 1)}") == "281474976710656 0\n");
}

TEST_CASE("templates: what would have no end, or no bound in memory, is refused") {
  const auto refused = [](const std::string& content, const char* words) {
    const std::string why = why_not(content);
    CHECK_MESSAGE(why.find(words) != std::string::npos, why.substr(0, 200));
  };
  refused("#if " + std::string(2'000'000, '!') + "1\n#end", "more than 64 brackets and signs");
  refused("${" + std::string(2'000'000, '-') + "1}", "more than 64 brackets and signs");
  refused("${" + std::string(2'000'000, '(') + "}", "more than 64 brackets and signs");
  refused(repeated("#if 1\n", 1000) + repeated("#end\n", 1000), "directives nest");
  refused("#for I in 0..100000000000000\n#end", "go through too many lines");
  refused(repeated("#for I in 0..1000\n", 10) + repeated("#end\n", 10), "too many lines");
  refused("#for I in 0..1000000\n#if 0\n" + repeated("x\n", 1000) + "#end\n#end", "too many lines");
  refused("#for I in 0..1000000\n#if 0\n#elif " + repeated("0 + ", 1000) + "0\n#end\n#end",
          "too many lines");
  refused("#include \"twice\"", "#include goes round in a circle");
  refused("#let A = \"" + std::string(1'000'000, 'x') + "\"", "a text has more than 1000 bytes");
  refused("#let A = \"" + std::string(900, 'x') + "\"\n" + repeated("${A}", 100'000), "over 8 MiB");
  refused(repeated("${", 30), "main:1: ${ has no }");
}

}  // namespace
}  // namespace tilewright::gpu
