#include <doctest/doctest.h>

#include <array>
#include <set>

#include "core/utf8.hpp"
#include "recording_backend.hpp"

namespace tilewright {
namespace {

constexpr std::array<std::byte, 8> params{};

/// A kernel that reads x, writes y, and has 8 bytes of parameters.
struct Prepared {
  Prepared() {
    be.declared.bindings = {{"x", false, 16}, {"y", true, 16}};
    be.declared.params = {{"n", "u32", 0, 4}, {"alpha", "f32", 4, 4}};
    be.declared.params_bytes = params.size();
    kernel = be.create_kernel({.code = "code", .name = "saxpy"});
    x = be.floats(4);
    y = be.floats(4);
    be.forget();
  }
  RecordingBackend be;
  Kernel kernel;
  Buffer x, y;
};

TEST_CASE("kernels: a right launch arrives as it was given") {
  Prepared p;
  p.be.launch_kernel(p.kernel, std::array{p.x, p.y}, params, {7, 1, 65535});
  const auto& request = p.be.only<LaunchRequest>();
  CHECK(request.kernel->info().name == "saxpy");
  CHECK(request.buffers.size() == 2);
  CHECK(request.params.data() == params.data());
  CHECK(request.grid == std::array<std::uint32_t, 3>{7, 1, 65535});
  CHECK(p.be.kernel_info(p.kernel).bindings[1].name == "y");
}

TEST_CASE("kernels: a grid with a zero has nothing to do") {
  Prepared p;
  const std::array both{p.x, p.y};
  CHECK_NOTHING_TO_DO(p.be, p.be.launch_kernel(p.kernel, both, params, {0, 1, 1}));
  CHECK_NOTHING_TO_DO(p.be, p.be.launch_kernel(p.kernel, both, params, {1, 1, 0}));
}

TEST_CASE("kernels: a wrong launch is refused by name") {
  Prepared p;
  const std::array both{p.x, p.y};
  const auto refused = [&](std::span<const Buffer> buffers, std::span<const std::byte> given,
                           const std::array<Size, 3>& grid, const char* words) {
    CHECK_REFUSED(p.be, p.be.launch_kernel(p.kernel, buffers, given, grid), words);
  };
  constexpr std::array<Size, 3> one{1, 1, 1};
  refused({}, params, one, "buffers has 0 entries, expected 2 (x, y), as saxpy declares");
  refused(std::array{p.x, Buffer::null}, params, one, "null handle");
  refused(std::array{p.x, p.x}, params, one, "buffers[1] (y) is the same buffer as buffers[0] (x)");
  refused(std::array{p.be.floats(3), p.y}, params, one,
          "buffers[0] holds 12 bytes, expected at least 16 for x");
  refused(both, std::span(params).first(4), one,
          "params has 4 bytes, expected 8 (n, alpha), as saxpy declares");
  refused(both, params, {1, 65536, 1},
          "grid[1] is 65536 workgroups, expected at most 65535 in a dimension");
  refused(both, params, {1, 1, -1}, "grid[2] is -1, expected 0 or more");
  const Buffer large = p.be.alloc((1 << 20) + 1);
  CHECK_THROWS_WITH_AS(p.be.launch_kernel(p.kernel, std::array{p.x, large}, params, one),
                       doctest::Contains("one binding of this device holds 1048576"), Unsupported);
}

TEST_CASE("kernels: views are bound from where bindings may start") {
  Prepared p;
  const Buffer large = p.be.alloc(1001);
  const auto launch = [&](Buffer x, Buffer y) {
    p.be.launch_kernel(p.kernel, std::array{x, y}, params, {1, 1, 1});
  };
  CHECK_NOTHROW(launch(p.be.view(large, 16, 64), p.y));
  CHECK_NOTHROW(launch(p.be.view(large, 960, 41), p.y));
  CHECK_REFUSED(p.be, launch(p.be.view(large, 20, 64), p.y),
                "buffers[0] is a view from byte 20 of its buffer on, expected a multiple of 16");
  CHECK_REFUSED(p.be, launch(p.x, p.be.view(large, 16, 66)),
                "buffers[1] is a view of 66 bytes, expected a multiple of 4");
  const Buffer left = p.be.view(large, 0, 64), right = p.be.view(large, 64, 64);
  CHECK_REFUSED(p.be, launch(left, right),
                "buffers[1] (y) is a view on the buffer of buffers[0] (x)");
  p.be.launch_limits.one_use_of_buffer = false;
  const Kernel other = p.be.create_kernel({.code = "anything"});
  CHECK_NOTHROW(p.be.launch_kernel(other, std::array{left, right}, params, {1, 1, 1}));
  const Buffer overlapping = p.be.view(large, 32, 64);
  CHECK_REFUSED(p.be, p.be.launch_kernel(other, std::array{left, overlapping}, params, {1, 1, 1}),
                "buffers[1] (y) is the same buffer as buffers[0] (x)");
}

TEST_CASE("kernels: handles are never reused, freed and foreign ones are found out") {
  Prepared p;
  RecordingBackend other;
  std::set<Kernel> seen{p.kernel};
  for (int i = 0; i < 100; ++i) {
    const Kernel kernel = p.be.create_kernel({.code = "code"});
    CHECK(seen.insert(kernel).second);
    CHECK(p.be.kernel_info(kernel).name == "main");
    p.be.free_kernel(kernel);
    CHECK_REFUSED(p.be, p.be.free_kernel(kernel), "was freed or belongs to another backend");
  }
  CHECK_REFUSED(other, other.kernel_info(p.kernel), "was freed or belongs to another backend");
  CHECK_REFUSED(p.be, p.be.kernel_info(Kernel::null), "kernel is the null handle");
  CHECK_REFUSED(p.be, p.be.kernel_info(static_cast<Kernel>(1ull << 60)),
                "which no create_kernel() returned");
  other.release_kernel(p.kernel);
  CHECK_NOTHROW(p.be.kernel_info(p.kernel));
  p.be.release_kernel(p.kernel);
  CHECK_THROWS_AS(p.be.kernel_info(p.kernel), InvalidArgument);
  const Kernel last = p.be.create_kernel({.code = "code"});
  p.be.close();
  p.be.init();
  CHECK_THROWS_AS(p.be.kernel_info(last), InvalidArgument);
}

TEST_CASE("kernels: a wrong source is refused by name") {
  RecordingBackend be;
  CHECK_REFUSED(be, be.create_kernel({}), "code is empty");
  CHECK_REFUSED(be, be.create_kernel({.code = "x", .entry = ""}), "entry is empty");
  CHECK_REFUSED(be, be.create_kernel({.code = "x", .name = "a\n"}), "name has a control character");
  CHECK_REFUSED(be, be.create_kernel({.code = "x", .name = "\xff"}), "name is no valid UTF-8");
}

TEST_CASE("profiles: one at a time, from begin to end") {
  RecordingBackend be;
  be.forget();
  CHECK_REFUSED(be, be.end_profile(), "no profile is being taken");
  be.begin_profile();
  CHECK_REFUSED(be, be.begin_profile(), "already being taken");
  const Profile profile = be.end_profile();
  REQUIRE(profile.launches.size() == 1);
  CHECK(profile.launches[0].kernel == "relu");
  CHECK_REFUSED(be, be.end_profile(), "no profile is being taken");
  be.begin_profile();
  be.close();
  be.init();
  be.begin_profile();
}

TEST_CASE("utf8") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* wrong : {"\x80", "\xc3", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80",
                            "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xc3\x28"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_utf8(wrong));
  }
}

}  // namespace
}  // namespace tilewright
