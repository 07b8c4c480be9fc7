#include <doctest/doctest.h>

#include <limits>

#include "recording_backend.hpp"

namespace tilewright {
namespace {

constexpr Size most = std::numeric_limits<Size>::max();

TEST_CASE("sort: requests and checks") {
  RecordingBackend be;
  const Buffer x = be.floats(12), out = be.floats(12), places = be.alloc(96);
  be.sort(x, out, 3, 4, true, DType::int32);
  CHECK(be.only<SortRequest>().op == "sort");
  CHECK(be.only<SortRequest>().length == 4);
  CHECK(be.only<SortRequest>().kept == 4);
  CHECK(be.only<SortRequest>().descending);
  CHECK(!be.only<SortRequest>().indices);
  be.forget();
  be.sort(x, x, 3, 4);
  CHECK(be.only<SortRequest>().values == be.only<SortRequest>().input);
  be.forget();
  be.argsort(x, places, 3, 4);
  CHECK(be.only<SortRequest>().index_dtype == DType::int64);
  CHECK(!be.only<SortRequest>().values);
  be.forget();
  be.topk(x, out, places, 3, 4, 2, false, DType::float32, DType::int32);
  CHECK(be.only<SortRequest>().kept == 2);
  CHECK(be.only<SortRequest>().values.bytes == 24);
  CHECK(be.only<SortRequest>().indices.bytes == 24);
  CHECK(!be.only<SortRequest>().descending);
  CHECK_REFUSED(be, be.sort(x, out, -1, 4), "sort: rows is -1");
  CHECK_REFUSED(be, be.sort(x, out, 4, 4), "input holds 48 bytes, expected at least 64");
  CHECK_REFUSED(be, be.sort(x, out, most, 4), "more than 64 bits can count");
  CHECK_REFUSED(be, be.sort(x, out, 3, 4, false, static_cast<DType>(99)), "dtype");
  CHECK_REFUSED(be, be.argsort(x, out, 3, 4), "indices holds 48 bytes, expected at least 96");
  CHECK_REFUSED(be, be.argsort(x, places, 3, 4, false, DType::float32, DType::uint32),
                "index_dtype is uint32, expected int64 or int32");
  CHECK_REFUSED(be, be.argsort(x, x, 1, 4), "argsort: indices overlaps input");
  CHECK_REFUSED(be, be.topk(x, out, places, 3, 4, 5), "k is 5, expected 0 to 4");
  CHECK_REFUSED(be, be.topk(x, x, places, 3, 4, 4), "topk: values overlaps input");
  CHECK_NOTHING_TO_DO(be, be.sort(x, out, 0, 4));
  CHECK_NOTHING_TO_DO(be, be.argsort(x, places, 3, 0));
  CHECK_NOTHING_TO_DO(be, be.topk(x, out, places, 3, 4, 0));
}

TEST_CASE("argsort: rows that int32 does not count") {
  RecordingBackend be;
  const Size length = (Size{1} << 31) + 1;
  const Buffer x = be.alloc(length), places = be.alloc(8 * length);
  CHECK_REFUSED(be, be.argsort(x, places, 1, length, false, DType::int8, DType::int32),
                "length is 2147483649, but index_dtype int32 counts to 2147483647; take int64");
  be.argsort(x, places, 1, length, false, DType::int8);
  CHECK(be.only<SortRequest>().length == length);
}

}  // namespace
}  // namespace tilewright
