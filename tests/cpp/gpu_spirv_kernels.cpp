#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "gpu/spirv_kernels.hpp"
#include "tilewright/error.hpp"

namespace tilewright::gpu {

TEST_SUITE("SPIR-V kernels") {
  TEST_CASE("a kernel is the module of its variables") {
    const TemplateVariables singles{{"GROUP", std::int64_t{256}}, {"T", "f32"}};
    const TemplateVariables halves{{"GROUP", std::int64_t{256}}, {"T", "f16"}};
    const KernelDescription fill = spirv_kernel("fill", singles);
    CHECK(fill.entry == "fill");
    REQUIRE(fill.code.text.size() > 20);
    std::uint32_t magic = 0;
    std::memcpy(&magic, fill.code.text.data(), sizeof(magic));
    CHECK(magic == 0x07230203u);
    CHECK(spirv_kernel("fill", halves).code.text != fill.code.text);
  }

  TEST_CASE("a module is given the constants that it reads") {
    TemplateVariables variables{{"GROUP", std::int64_t{256}}, {"T", "f32"},
                                {"BK", std::int64_t{16}},     {"BM", std::int64_t{32}},
                                {"BN", std::int64_t{64}},     {"TM", std::int64_t{4}},
                                {"TN", std::int64_t{4}},      {"LANES", std::int64_t{8}},
                                {"B_DEEP", std::int64_t{0}},  {"DIRECT", std::int64_t{1}}};
    for (const char* ignored : {"TO", "BIAS"}) variables[ignored] = "f32";
    const auto direct = spirv_kernel("conv2d_backward_data", variables).constants;
    REQUIRE(direct.size() == 1);
    CHECK(direct[0].id == 0);
    CHECK(direct[0].value == 8);
    variables["DIRECT"] = std::int64_t{0};
    CHECK(spirv_kernel("conv2d_backward_data", variables).constants.empty());
  }

  TEST_CASE("a wish for subgroups falls back to the kernel without") {
    TemplateVariables variables{{"GROUP", std::int64_t{256}}, {"T", "f32"}};
    const std::string plain = spirv_kernel("fill", variables).code.text;
    variables["SUBGROUP"] = std::int64_t{16};
    CHECK(spirv_kernel("fill", variables).code.text == plain);
  }

  TEST_CASE("what a kernel does not know is an error that names it") {
    TemplateVariables variables{{"GROUP", std::int64_t{256}}, {"T", "f32"}};
    CHECK_THROWS_WITH_AS(spirv_kernel("nothing", variables), "no SPIR-V kernel is named nothing",
                         KernelError);
    variables["T"] = "f64";
    CHECK_THROWS_WITH_AS(spirv_kernel("fill", variables),
                         "fill is not compiled for GROUP=256 T=f64", KernelError);
    variables["T"] = "f32";
    variables["COLOUR"] = std::int64_t{1};
    CHECK_THROWS_WITH_AS(spirv_kernel("fill", variables),
                         "fill: variable COLOUR is set and not declared", KernelError);
    variables.erase("COLOUR");
    variables.erase("GROUP");
    CHECK_THROWS_WITH_AS(spirv_kernel("fill", variables), "fill: its variable GROUP was not set",
                         KernelError);
  }

  TEST_CASE("a word that is a constant is its place among those of the kernel") {
    TemplateVariables variables{{"GROUP", std::int64_t{128}},     {"T", "f32"},
                                {"VECTORS", std::int64_t{2}},     {"FORM", "plain"},
                                {"RANK", std::int64_t{1}},        {"A_IS_OUTPUT", std::int64_t{0}},
                                {"B_IS_OUTPUT", std::int64_t{0}}, {"OP", "mul"}};
    const KernelDescription product = spirv_kernel("binary", variables);
    REQUIRE(product.constants.size() == 2);
    CHECK(product.constants[0].value == 2);
    CHECK(product.constants[1].value == 128);
    CHECK(product.group_size == 128);
    variables["OP"] = "modulo";
    CHECK_THROWS_AS(spirv_kernel("binary", variables), KernelError);
  }

  TEST_CASE("kernels have names and digests of their own") {
    std::set<std::string_view> names;
    std::set<std::string_view> digests;
    for (const SpirvKernel& kernel : embedded_spirv_kernels()) {
      names.insert(kernel.name);
      digests.insert(kernel.digest);
    }
    CHECK(names.size() == embedded_spirv_kernels().size());
    CHECK(digests.size() == names.size());
    CHECK(spirv_kernels_fingerprint().size() == 16);
  }
}

}  // namespace tilewright::gpu
