// What is read from the text of a kernel.

#include <doctest/doctest.h>

#include <string>

#include "tilewright/error.hpp"
#include "webgpu/wgsl_growth.hpp"
#include "webgpu/wgsl_interface.hpp"

namespace tilewright::webgpu {
namespace {

WgslInterface read(const std::string& text) {
  const gpu::KernelDescription kernel{"k", {text, {"k"}, {}}, "main", false};
  check_bytes(kernel.code);
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  check_nesting(kernel.code, tokens);
  check_growth(kernel.code, tokens, Declarations(kernel.code, tokens));
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
  CHECK(it.info.workgroup_bytes == 32 + 16);
  CHECK(it.info.workgroup_size == std::array<std::uint32_t, 3>{8, 2, 1});
}

/// `count` declarations, in each of which @ is its number and # the one before.
std::string chain(const std::string& first, const std::string& next, int count) {
  std::string all = first;
  for (int i = 1; i <= count; ++i) {
    for (const char c : next) {
      all += c == '@' ? std::to_string(i) : c == '#' ? std::to_string(i - 1) : std::string(1, c);
    }
  }
  return all;
}

const std::string doubling = chain("struct S0 { a: f32, }", "struct S@ { a: S#, b: S#, }", 24);
const std::string storage = "@group(0) @binding(0) var<storage, read_write> x: ";

std::string with_body(const std::string& body) {
  return storage + "array<f32>; @compute @workgroup_size(1) fn main() {" + body + "}";
}

TEST_CASE("wgsl: declarations that double are read once each") {
  CHECK(read(chain("const a0 = 1;", "const a@ = a# + a# - a#;", 190) +
             "@compute @workgroup_size(a190) fn main() {}")
            .info.workgroup_size[0] == 1);
  CHECK(read(doubling + storage + "S24;" + entry).info.bindings[0].least_bytes == 4 << 24);
}

TEST_CASE("wgsl: what grows as it is compiled is refused") {
  const auto refused = [](const std::string& text, const char* words) {
    CAPTURE(text.substr(0, 200));
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(words), KernelError);
  };
  const char* const grows = "grows to more than 32768 words";
  const char* const large = "expected at most 8192";
  const std::string functions = chain("fn f0(a: f32) -> f32 { return a; }",
                                      "fn f@(a: f32) -> f32 { return f#(a) + f#(a + 1); }", 24);
  refused(functions + with_body("x[0] = f24(1);"), grows);
  refused(chain("const a0 = array(1, 1);", "const a@ = array(a#, a#);", 24) + entry, grows);
  refused(with_body(chain("let a0 = array(1, 1);", "let a@ = array(a#, a#);", 24)), grows);
  refused(with_body(chain("", "x[@] = x[#] * 2;", 5000)), grows);
  refused(with_body("var a: array<f32, 2000>; var b = a;" + chain("", "a = b;", 40)), grows);
  refused("fn f(a: array<f32, 2000>) -> array<f32, 2000> { return a; }" +
              with_body("let b = f(array<f32, 2000>());" + chain("", "_ = b;", 40)),
          grows);
  refused(doubling + with_body("let a = S24();"), large);
  refused("var<private> p: array<f32, 1000000>;" + entry, large);
  refused("const n = 1000000;" + with_body("var a: array<f32, n>;"), large);
  refused(with_body("const n = 1000000; var a: array<f32, n>;"), large);
  refused("fn f() { const n = 4; }" + with_body("const n = 1000000; var a: array<f32, n>;"), large);
  refused("alias A = array<array<f32, 4096>, 4096>;" + with_body("var a = A();"), large);
  const std::string all = "; @compute @workgroup_size(1) fn main() { ";
  refused(storage + "array<f32, 10000000>" + all + "let a = x; }", large);
  refused(storage + "array<array<f32, 10000000>, 2>" + all + "x[0] = x[1]; }", large);
  refused("struct S { a: array<f32, 10000>, }" + (storage + "S") + all + "let b = x.a; }", large);
  refused(storage + "array<f32, 10000000>" + all + "let p = &x; let a = *p; }", large);
  refused("struct S { " + chain("", "a@: f32, ", 3000) + "}" + entry, "more than 2047 members");
  refused("const t = array(" + chain("1", ", 1", 3000) + ");" + entry, "is written out");
  refused(chain("alias A0 = f32;", "alias A@ = A#;", 1000) + entry, "by way of too many others");
  refused("alias A = B; alias B = A;" + entry, "by way of itself");
  refused("alias A = " + chain("", "array<", 40) + "f32" + chain("", ", 2>", 40) + ";" +
              with_body("var a: A;"),
          "nest more than 32 deep");
  refused(std::string(2 << 20, '\n') + entry, "larger than 1 MiB");
}

TEST_CASE("wgsl: what does not grow is taken") {
  const std::string all = "; @compute @workgroup_size(1) fn main() { ";
  read(storage + "array<f32, 100000000>" + all + "x[7] = x[8]; }");
  read("struct S { a: array<vec4f, 100000>, b: array<u32>, }" + (storage + "S") + all +
       "x.a[1].x = f32(arrayLength(&x.b)); }");
  read("var<workgroup> w: array<array<f32, 64>, 64>;" + with_body("w[1][2] = x[0];"));
  read("var<private> p: array<f32, 2048>;" + with_body(chain("", "p[@] = p[#];", 500)));
  read("fn f(p: ptr<function, array<f32, 2000>>) { (*p)[0] = 1; } alias P = ptr<function, f32>;" +
       with_body("const n = 4; const m = max(n, 3); var a: array<f32, m>; var b: array<f32, 2000>; "
                 "f(&b); let c = P;"));
  read(with_body(chain("let a0 = x[0];", "let a@ = a# * a#;", 200)));
}

/// A kernel whose main does this so many times.
std::string repeated(const std::string& before, const std::string& statement, int count) {
  return with_body(before + chain("", statement, count));
}

TEST_CASE("wgsl: what drivers take long for is bounded by what they take") {
  const auto taken = [](const std::string& text) {
    CAPTURE(text.substr(0, 300));
    CHECK_NOTHROW(read(text));
  };
  const auto refused = [](const std::string& text) {
    CAPTURE(text.substr(0, 300));
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains("grows to more than 32768 words"),
                         KernelError);
  };
  const auto array = [](int n, const std::string& body) {
    return with_body("var a: array<f32, " + std::to_string(n) + ">; let i = u32(x[0]); " + body);
  };
  const auto both = [&](const auto& made, int fits, int grows) {
    taken(made(fits));
    refused(made(grows));
  };
  // An index at run time costs by the array's length, wherever it is kept and however it is named.
  both([&](int n) { return array(n, "a[i] = 1; x[1] = a[i + 1];"); }, 500, 2000);
  taken(array(2000, "a[3] = 1; x[1] = a[1 << 4];"));
  both([&](int n) { return array(n, "let p = &a; (*p)[i] = 1;"); }, 500, 2000);
  both([&](int n) { return array(n, "for (var j = 0u; j < 64u; j++) { a[j] = x[j]; }"); }, 64,
       2000);
  both(
      [&](int n) {
        const std::string type = "array<f32, " + std::to_string(n) + ">";
        return "fn f(p: ptr<function, " + type + ">, i: u32) { p[i] = 1; }" +
               with_body("var a: " + type + "; f(&a, u32(x[0]));");
      },
      500, 2000);
  both(
      [&](int n) {
        return "var<private> a: array<f32, " + std::to_string(n) + ">;" +
               with_body("x[0] = a[u32(x[0])];");
      },
      500, 2000);
  both(
      [&](int n) {
        return "const t = array(1" + chain("", ", 1", n - 1) + ");" +
               with_body("x[0] = t[u32(x[0])];");
      },
      256, 1000);
  both([&](int n) { return repeated("var a: array<f32, 16>;", "x[@] = a[u32(x[@]) & 15u];", n); },
       100, 300);
  refused("const i = 1; " + array(2000, "let i = u32(x[0]); a[i] = 1;"));
  // Built-in functions, divisions and products of matrices.
  both([&](int n) { return repeated("var v = vec4f(x[0]);", "v = atan2(v, v + 1.0);", n); }, 200,
       800);
  both([&](int n) { return repeated("var v = x[0];", "v = sin(v);", n); }, 400, 2000);
  both([&](int n) { return repeated("var v = u32(x[0]);", "v = 9u / v;", n); }, 400, 2000);
  both([&](int n) { return repeated("var m = mat4x4f();", "m = m * m;", n); }, 50, 500);
  both([&](int n) { return "alias M = mat4x4f;" + repeated("var m: M;", "m = m * 2;", n); }, 50,
       500);
  both(
      [&](int n) {
        return "fn f() -> mat2x2f { return mat2x2f(); }" +
               repeated("let m = f(); var k = m;", "k = k * m;", n);
      },
      50, 500);
  taken(repeated("var m = mat2x2f(); var f = 1.0;", "f = f * 3.0;", 1000));
  // Loops that go round few times are written out, one in the other too.
  const std::string add = "{ x[i] += 1.0; }";
  both([&](int n) { return repeated("", "for (var i = 0; i < 20; i++) " + add, n); }, 10, 40);
  both([&](int n) { return repeated("", "for (var i = 0; i < i32(x[9]); i++) " + add, n); }, 60,
       300);
  taken(repeated("", "for (var i = 0; i < 1000; i++) " + add, 40));
  both([&](int n) { return repeated("", "for (var i = 40; i >= 0; i -= 2) " + add, n); }, 10, 40);
  both([&](int n) { return repeated("", "for (var i = 64; i > 0; i >>= 1) " + add, n); }, 10, 80);
  both([&](int n) { return repeated("", "{ var i = 0; while i < 20 { x[i] += 1.0; i++; } }", n); },
       10, 60);
  both(
      [&](int n) {
        return repeated("", "{ var i = 0; loop { if i == 20 { break; } x[i] += 1.0; i++; } }", n);
      },
      8, 60);
  taken(
      with_body("for (var i = 0; i < 16; i++) { for (var j = 0; j < 16; j++) {"
                "for (var k = 0; k < 16; k++) { x[i * j + k] += 1.0; } } }"));
}

TEST_CASE("wgsl: a loop that is none is read as what it is, and no word again and again") {
  const auto refused_later = [](const std::string& body) { CHECK_NOTHROW(read(with_body(body))); };
  refused_later("for");
  refused_later("for (;;)");
  refused_later("while loop for ( ; ) {}");
  refused_later("for (var i = 0; i < ; i += ) {} loop");
  for (const char* word : {"while ", "for ", "loop ", "let ", "var ", "fn ", "struct S "}) {
    CHECK_THROWS_AS(read(with_body(chain("", word, 100'000))), KernelError);
  }
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
  refused("const a = 1" + std::string(600, '+') + ";" + entry, "more than 250 operators");
}

/// A product by matrix units, as Dawn takes it.
constexpr const char* by_matrix_units = R"(
enable f16; enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
requires immediate_address_space;
alias Left = subgroup_matrix_left<f16, 16, 16>;
struct Params { k: u32, stride: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f16>;
@group(0) @binding(1) var<storage, read> b: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
const ROWS = 16;
var<workgroup> tile: array<f16, ROWS * 24>;
fn next(sum: subgroup_matrix_result<f32, 16, 16>, k: u32) -> subgroup_matrix_result<f32, 16, 16> {
  let x = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&a, k, params.stride);
  let y = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&tile, k % 16u, 24u);
  return subgroupMatrixMultiplyAccumulate(x, y, sum);
}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  var sums: array<subgroup_matrix_result<f32, 16, 16>, 2>;
  for (var k = 0u; k < params.k; k += 16u) {
    tile[i] = bitcast<vec2<f16>>(b[k + i].x).x;
    workgroupBarrier();
    sums[0] = next(sums[0], k);
    sums[1] = next(sums[1], k + 8u);
    workgroupBarrier();
  }
  subgroupMatrixStore<row_major>(&c, 0u, sums[0], params.stride);
  subgroupMatrixStore<row_major>(&c, 256u, sums[1], params.stride);
}
)";

TEST_CASE("wgsl: kernels of matrix units are read as others are") {
  gpu::KernelDescription kernel;
  kernel.name = "product";
  kernel.entry = "main";
  kernel.code = {by_matrix_units, {"product"}, {}};
  const std::vector<Token> tokens = tokens_of(kernel.code.text);
  check_nesting(kernel.code, tokens);
  check_growth(kernel.code, tokens, Declarations(kernel.code, tokens));
  const WgslInterface read = interface_of(kernel, tokens);
  REQUIRE(read.info.bindings.size() == 3);
  CHECK(read.info.bindings[0].name == "a");
  CHECK(read.info.bindings[0].least_bytes == 2);
  CHECK(read.info.bindings[1].least_bytes == 16);
  CHECK(read.info.bindings[2].writable);
  CHECK(read.info.params_bytes == 8);
  CHECK(read.info.workgroup_bytes == 768);
  CHECK(read.info.workgroup_size == std::array<std::uint32_t, 3>{64, 1, 1});
}

}  // namespace
}  // namespace tilewright::webgpu
