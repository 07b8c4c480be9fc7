// An image filtered by two 3x3 filters, with padding, bias and stride.

#include <cstdio>

#include "arrays.hpp"

namespace tw = tilewright;

int main() {
  const auto be = tw::init_backend();
  std::vector<float> pixels(36);
  for (int i = 0; i < 36; ++i) pixels[static_cast<std::size_t>(i)] = static_cast<float>(i % 6 * i);

  // One image of one channel, 6 x 6; two filters: a neighbourhood's mean, the horizontal edge.
  const tw::Buffer image = upload(*be, pixels);
  std::vector<float> weights(9, 1.0f / 9);
  weights.insert(weights.end(), {-1, 0, 1, -2, 0, 2, -1, 0, 1});
  const tw::Buffer filters = upload(*be, weights);
  const tw::Buffer bias = upload(*be, {0, 100});
  const tw::Buffer output = be->alloc(2 * 3 * 3 * sizeof(float));

  be->conv2d_forward(image, {1, 1, 6, 6}, filters, {2, 1, 3, 3}, output, {1, 2, 3, 3},
                     /*stride=*/{2, 2}, /*pad=*/{1, 1}, /*dilation=*/{1, 1}, /*groups=*/1, bias);
  const std::vector<float> result = download(*be, output);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i % 9 == 0) std::printf("channel %zu\n", i / 9);
    std::printf("%8.2f%s", result[i], i % 3 == 2 ? "\n" : "");
  }
}
