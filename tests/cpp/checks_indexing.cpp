#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

using Sizes = std::vector<Size>;

Sizes sizes(std::span<const Size> of) { return {of.begin(), of.end()}; }

TEST_CASE("gather_elements: dimensions are joined where all operands walk as one") {
  RecordingBackend be;
  const Buffer x = be.floats(1000), index = be.alloc(400), out = be.floats(1000);
  const Sizes rows{0, 10, 1}, once{1, 0, 0}, shape{7, 5, 10};
  const std::array indices{IndexOperand{{index, once}, DType::int64, 20, 50, 3}};
  be.forget();
  be.gather_elements({x, rows}, indices, {out}, shape, DType::float32);
  const auto& r = be.only<MoveRequest>();
  CHECK(be.calls == std::vector<std::string>{"do_gather_elements"});
  CHECK(r.name == "gather_elements");
  CHECK(r.item == 4);
  CHECK(r.n == 350);
  CHECK(sizes(r.shape()) == Sizes{7, 50});
  CHECK(sizes(r.source_strides()) == Sizes{0, 1});
  CHECK(sizes(r.output_strides()) == Sizes{50, 1});
  CHECK(sizes(r.index_strides(0)) == Sizes{1, 0});
  be.forget();
  be.scatter_elements({x}, indices, {out, rows}, shape, DType::float32, "put");
  const auto& put = be.only<MoveRequest>();
  CHECK(put.scatter);
  CHECK(put.name == "put");
  CHECK(sizes(put.source_strides()) == Sizes{50, 1});
  CHECK(sizes(put.output_strides()) == Sizes{0, 1});
}

TEST_CASE("gather_elements: what is indexed must hold what indices may reach") {
  RecordingBackend be;
  const Buffer x = be.floats(10), index = be.alloc(16), out = be.floats(4);
  const Sizes shape{4};
  const auto take = [&](Size size, Size stride, Size offset = 0) {
    const std::array indices{IndexOperand{{index}, DType::int32, size, stride}};
    be.gather_elements({x, {}, offset}, indices, {out}, shape, DType::float32);
  };
  take(10, 1);
  take(4, 3);
  take(4, -3, 9);
  CHECK_THROWS_AS(take(11, 1), InvalidArgument);
  CHECK_THROWS_AS(take(4, 3, 1), InvalidArgument);
  CHECK_THROWS_AS(take(4, -3, 8), InvalidArgument);
  CHECK_THROWS_AS(take(0, 1), IndexOutOfRange);
  CHECK_THROWS_AS(take(-1, 1), InvalidArgument);
  CHECK_THROWS_AS(take(Size{1} << 62, 1), InvalidArgument);
  CHECK_THROWS_AS(take(3, Size{1} << 62), InvalidArgument);
}

TEST_CASE("masks: nothing is done where nothing is chosen") {
  RecordingBackend be;
  const Buffer mask = be.alloc(10000), counts = be.floats(4), out = be.floats(100);
  be.forget();
  be.compact(mask, counts, mask, out, 10000, 0, DType::boolean);
  be.nonzero(mask, counts, Buffer::null, Sizes{100, 100}, 0);
  be.search_sorted(out, mask, Buffer::null, 100, 0);
  CHECK(be.calls.empty());
  be.mask_counts(mask, counts, 10000);
  CHECK(be.only<MaskRequest>().n == 10000);
  CHECK_THROWS_AS(be.mask_counts(mask, be.floats(3), 10000), InvalidArgument);
  CHECK_THROWS_AS(be.mask_counts(mask, counts, 10001), InvalidArgument);
}

}  // namespace
}  // namespace tilewright
