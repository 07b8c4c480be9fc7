#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "core/program/program_data.hpp"
#include "recording_backend.hpp"

namespace tilewright {
namespace {

using Sizes = std::vector<Size>;

Program identity(DType dtype) {
  Program program;
  program.output(program.input(dtype));
  return program;
}

/// A reduction of x, contiguous or by strides, and its request.
struct Reduced {
  RecordingBackend be;
  Buffer x = be.alloc(1 << 16), out = be.alloc(1 << 16);

  const FoldRequest& of(Reduction op, DType dtype, const Sizes& shape, const Sizes& axes,
                        const Sizes& strides = {}) {
    be.forget();
    const std::array inputs{MapOperand{x, strides}}, outputs{MapOperand{out}};
    be.map_reduce(identity(dtype), op, shape, axes, inputs, {}, outputs);
    CHECK(be.calls == std::vector<std::string>{"do_map_reduce"});
    return be.only<FoldRequest>();
  }
};

Sizes shape_of(const FoldRequest& r) { return {r.shape().begin(), r.shape().end()}; }
Sizes strides_of(const FoldRequest& r, std::size_t o) {
  return {r.strides(o).begin(), r.strides(o).end()};
}

TEST_CASE("map_reduce: dimensions are joined, kept ones first") {
  Reduced reduced;
  const FoldRequest& rows = reduced.of(Reduction::sum, DType::float32, {2, 1, 3, 4}, {2, -1});
  CHECK(rows.results == 2);
  CHECK(rows.length == 12);
  CHECK(rows.kept == 1);
  CHECK(shape_of(rows) == Sizes{2, 12});
  CHECK(strides_of(rows, 0) == Sizes{12, 1});
  CHECK(strides_of(rows, 1) == Sizes{1, 0});
  const FoldRequest& middle = reduced.of(Reduction::max, DType::float32, {2, 3, 4}, {1});
  CHECK(shape_of(middle) == Sizes{2, 4, 3});
  CHECK(strides_of(middle, 0) == Sizes{12, 1, 4});
  const FoldRequest& all = reduced.of(Reduction::sum, DType::float32, {5, 7}, {0, 1}, {1, 5});
  CHECK(all.kept == 0);
  CHECK(shape_of(all) == Sizes{35});
  const FoldRequest& each = reduced.of(Reduction::sum, DType::float32, {5, 7}, {});
  CHECK(each.results == 35);
  CHECK(each.length == 1);
}

TEST_CASE("map_reduce: places count in the order of the axes, and are two words of int64") {
  Reduced reduced;
  const FoldRequest& r = reduced.of(Reduction::argmax, DType::float32, {5, 7}, {0, 1}, {1, 5});
  CHECK(shape_of(r) == Sizes{5, 7});
  CHECK(strides_of(r, 0) == Sizes{1, 5});
  REQUIRE(r.operands.size() == 3);
  CHECK(r.operands[2].offset == r.operands[1].offset + 1);
  CHECK(r.behind->nodes[r.behind->inputs[0]].dtype == DType::uint32);
  const FoldRequest& rows = reduced.of(Reduction::argmin, DType::int8, {3, 7}, {1});
  CHECK(strides_of(rows, 1) == Sizes{2, 0});
}

TEST_CASE("map_reduce: elements are joined in a class that has the op") {
  Reduced reduced;
  const FoldRequest& any = reduced.of(Reduction::any, DType::float16, {9}, {0});
  CHECK(any.op == Reduction::max);
  CHECK(any.front->output_dtype() == DType::uint32);
  CHECK(any.behind->output_dtype() == DType::boolean);
  const FoldRequest& small = reduced.of(Reduction::sum, DType::int8, {9}, {0});
  CHECK(small.behind->nodes[small.behind->inputs[0]].dtype == DType::int32);
  CHECK(small.behind->output_dtype() == DType::int8);
  const FoldRequest& half = reduced.of(Reduction::sum, DType::float16, {9}, {0});
  CHECK(half.behind->nodes[half.behind->inputs[0]].dtype == DType::float32);
  CHECK(half.behind->output_dtype() == DType::float16);
}

TEST_CASE("map_reduce: of nothing it is a map of what nothing gives") {
  RecordingBackend be;
  const Buffer out = be.alloc(64);
  const Sizes shape{3, 0}, axes{1};
  const std::array inputs{MapOperand{}}, outputs{MapOperand{out}};
  be.map_reduce(identity(DType::int32), Reduction::prod, shape, axes, inputs, {}, outputs);
  const auto& r = be.only<MapRequest>();
  CHECK(r.n == 3);
  REQUIRE(r.program->nodes.size() == 1);
  CHECK(r.program->nodes[0].kind == NodeKind::constant);
  CHECK(r.program->nodes[0].bits == 1);
  CHECK_THROWS_WITH_AS(
      be.map_reduce(identity(DType::int32), Reduction::max, shape, axes, inputs, {}, outputs),
      "map_reduce: max of no elements: shape has none along the axes", InvalidArgument);
}

TEST_CASE("scan: from the end it walks backwards") {
  RecordingBackend be;
  const Buffer x = be.alloc(64), out = be.alloc(64);
  const Sizes shape{3, 4};
  const std::array inputs{MapOperand{x}};
  be.scan(identity(DType::float32), ScanOp::sum, shape, 0, inputs, {}, {out}, true, true);
  const auto& r = be.only<FoldRequest>();
  CHECK(r.scan);
  CHECK(r.exclusive);
  CHECK(shape_of(r) == Sizes{4, 3});
  CHECK(strides_of(r, 0) == Sizes{1, -4});
  CHECK(strides_of(r, 1) == Sizes{1, -4});
  CHECK(r.operands[0].offset == 8);
}

TEST_CASE("what nothing gives is an element of its dtype") {
  CHECK(identity_bits(Reduction::max, DType::int8) == 0xffffff80);
  CHECK(identity_bits(Reduction::min, DType::int8) == 0x7f);
  CHECK(identity_bits(Reduction::min, DType::uint16) == 0xffff);
  CHECK(identity_bits(Reduction::max, DType::uint64) == 0);
  CHECK(identity_bits(Reduction::max, DType::int64) == std::uint64_t{1} << 63);
  CHECK(identity_bits(Reduction::max, DType::float16) == 0xff800000);
  CHECK(identity_bits(Reduction::prod, DType::float64) == 0x3ff0000000000000);
  CHECK(identity_bits(Reduction::min, DType::boolean) == 1);
}

}  // namespace
}  // namespace tilewright
