#include <doctest/doctest.h>

#include <vector>

#include "gpu/operands.hpp"

namespace tilewright::gpu {
namespace {

struct Given {
  BufferRange range;
  Access access;
};

std::vector<CopiedRange> copies(const std::vector<Given>& given, bool one_use) {
  DeviceLimits limits;
  limits.binding_alignment = 16;
  limits.one_use_of_buffer = one_use;
  std::vector<Operand> operands;
  for (const Given& one : given) operands.push_back({&one.range, one.access});
  std::vector<CopiedRange> found = copies_to_bind(operands, limits);
  CHECK(can_bind(operands, limits) == found.empty());
  return found;
}

AllocationRef memory() { return std::make_shared<Allocation>(1000); }

TEST_CASE("gpu operands: what starts where a binding may is bound in place") {
  const AllocationRef one = memory(), other = memory();
  CHECK(copies({{{one, 16, 8}, Access::read}, {{other, 32, 8}, Access::write}}, true).empty());
  CHECK(copies({{{one, 16, 8}, Access::read}, {{one, 32, 8}, Access::write}}, false).empty());
  CHECK(copies({{{one, 16, 8}, Access::read}, {{one, 16, 8}, Access::write}}, true).empty());
  CHECK(copies({{{one, 16, 8}, Access::read}, {{one, 32, 8}, Access::read}}, true).empty());
  CHECK(copies({{{one, 0, 8}, Access::read}, {{}, Access::read}}, true).empty());
}

TEST_CASE("gpu operands: what starts elsewhere is copied as it is used") {
  const AllocationRef one = memory();
  const BufferRange range(one, 20, 8);
  const auto only = [&](const std::vector<Given>& given, bool in, bool out) {
    const auto found = copies(given, false);
    REQUIRE(found.size() == 1);
    CHECK(found[0].range == range);
    CHECK(found[0].in == in);
    CHECK(found[0].out == out);
  };
  only({{range, Access::read}, {{one, 32, 8}, Access::write}}, true, false);
  only({{range, Access::read}, {range, Access::read}}, true, false);
  only({{{one, 32, 8}, Access::read}, {range, Access::write}}, false, true);
  only({{{one, 32, 8}, Access::read}, {range, Access::update}}, true, true);
  only({{range, Access::read}, {range, Access::write}}, true, true);
}

TEST_CASE("gpu operands: where a buffer has one use, the fewer bytes are copied") {
  const AllocationRef one = memory();
  const BufferRange small(one, 16, 8), large(one, 32, 400), another(one, 512, 400);
  auto found = copies({{small, Access::read}, {large, Access::write}}, true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].range == small);
  CHECK(found[0].in);
  found = copies({{large, Access::read}, {another, Access::read}, {small, Access::update}}, true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].range == small);
  CHECK(found[0].in);
  CHECK(found[0].out);
  // Its copy is used alone.
  found = copies({{small, Access::read}, {{one, 100, 400}, Access::write}}, true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].range.offset == 100);
  // No bytes are a use all the same.
  found = copies({{{one, 16, 0}, Access::read}, {large, Access::write}}, true);
  REQUIRE(found.size() == 1);
  CHECK(found[0].range.bytes == 0);
}

}  // namespace
}  // namespace tilewright::gpu
