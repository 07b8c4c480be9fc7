// What is read from the text of a kernel.

#include <doctest/doctest.h>

#include <string>

#include "tilewright/error.hpp"
#include "webgpu/wgsl_interface.hpp"

namespace tilewright::webgpu {
namespace {

WgslInterface read(const std::string& text) {
  const gpu::KernelDescription kernel{"k", {text, {"k"}, {}}, "main", false};
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  check_text(kernel.code, tokens);
  return interface_of(kernel, tokens);
}

const std::string entry = "@compute @workgroup_size(1) fn main() {}";

TEST_CASE("wgsl: tokens know their lines and leave comments out") {
  const std::string text = "a // b\n/* c /* d */\n e */ f<<0x1Fu\n1e-3.x /* open";
  const std::vector<Token> tokens = tokens_of(text);
  std::string seen;
  for (const Token& token : tokens) {
    seen += std::string(token.text) + "@" + std::to_string(token.line) + " ";
  }
  CHECK(seen == "a@1 f@3 <@3 <@3 0x1Fu@3 1e-3.x@4 ");
}

TEST_CASE("wgsl: bindings in the order of their numbers") {
  const KernelInfo info = read(
                              "const one = 1;\n"
                              "@binding(one) @group(0) var<storage,read_write> b: array<vec4f>;\n"
                              "@group(0) @binding(0x0) var<storage> a : array<u32, 1 << 4>;\n" +
                              entry)
                              .info;
  REQUIRE(info.bindings.size() == 2);
  CHECK(info.bindings[0].name == "a");
  CHECK_FALSE(info.bindings[0].writable);
  CHECK(info.bindings[0].least_bytes == 64);
  CHECK(info.bindings[1].name == "b");
  CHECK(info.bindings[1].writable);
  CHECK(info.bindings[1].least_bytes == 16);
}

TEST_CASE("wgsl: parameters where WGSL lays them") {
  const KernelInfo info = read(
                              "struct P { a: f16, @align(16) b: vec3<u32>, c: f32, m: mat2x3f }\n"
                              "alias Q = P; var<immediate> p: Q;" +
                              entry)
                              .info;
  REQUIRE(info.params.size() == 4);
  CHECK(info.params[1].type == "vec3<u32>");
  CHECK(info.params[1].offset == 16);
  CHECK(info.params[2].offset == 28);
  CHECK(info.params[3].offset == 32);
  CHECK(info.params[3].bytes == 32);
  CHECK(info.params_bytes == 64);
  const KernelInfo alone = read("var<immediate> n: u32;" + entry).info;
  CHECK(alone.params[0].name == "n");
  CHECK(alone.params_bytes == 4);
}

TEST_CASE("wgsl: workgroup memory that the entry point can reach, and its size") {
  const WgslInterface it = read(
      "override n = 3 * (4 + 1) - 7;\n"
      "var<workgroup> a: array<f32, n>; var<workgroup> b: u32; var<workgroup> c: array<f32, 99>;\n"
      "fn unused() { c[0] = 1; } fn used() -> u32 { return b; }\n"
      "@compute @workgroup_size(n, 2u,) fn main() { a[0] = f32(used()); }");
  CHECK(it.workgroup_bytes == 32 + 16);
  CHECK(it.info.workgroup_size == std::array<std::uint32_t, 3>{8, 2, 1});
}

TEST_CASE("wgsl: what is not taken is refused with its line") {
  const auto refused = [](const std::string& text, const char* words) {
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(words), KernelError);
  };
  refused("\n@group(0) @binding(0) var<uniform> u: u32;" + entry, "k:2: u is bound as uniform");
  refused("@group(0) @binding(0) var t: texture_2d<f32>;" + entry, "t is bound as a texture");
  refused("@group(2) @binding(0) var<storage> x: array<f32>;" + entry, "group other than 0");
  refused("@group(0) @binding(3) var<storage> x: array<f32>;" + entry, "expected 0");
  refused("fn main() {}", "no @compute function is named main; there is none");
  refused("override n: u32;\n@group(0) @binding(0) var<storage> x: array<f32, n>;" + entry, "k:2:");
  refused(std::string(100, '(') + entry, "more than 64 brackets");
  refused("const a = 1" + std::string(600, '+') + ";" + entry, "more than 500 operators");
}

}  // namespace
}  // namespace tilewright::webgpu
