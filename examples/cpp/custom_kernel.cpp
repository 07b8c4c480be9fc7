// A kernel of one's own: y = alpha * x + y, timed by the device's clock.

#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "arrays.hpp"

namespace tw = tilewright;

namespace {

constexpr const char* code = R"(
struct Params { n: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if id.x < params.n { y[id.x] += params.alpha * x[id.x]; }
}
)";

void run(tw::Backend& be) {
  const tw::Kernel saxpy = be.create_kernel({.code = code, .name = "saxpy"});
  constexpr std::uint32_t n = 1000;
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const tw::Buffer x = upload(be, numbers);
  const tw::Buffer y = upload(be, std::vector<float>(n, 1.0f));

  const struct {
    std::uint32_t n;
    float alpha;
  } params{n, 2.0f};
  be.begin_profile();
  be.launch_kernel(saxpy, std::array{x, y}, std::as_bytes(std::span(&params, 1)),
                   {(n + 63) / 64, 1, 1});
  const tw::Profile profile = be.end_profile();

  const std::vector<float> result = download(be, y);
  std::printf("%.1f %.1f\n", result.front(), result.back());
  for (const tw::LaunchRecord& launch : profile.launches) {
    std::printf("%s %u workgroups\n", launch.kernel.c_str(), launch.grid[0]);
  }
}

}  // namespace

int main() {
  const auto be = tw::init_backend();
  try {
    run(*be);
  } catch (const tw::Unsupported& error) {
    std::printf("%s\n", error.what());
  }
}
