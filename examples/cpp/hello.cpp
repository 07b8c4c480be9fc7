// Numbers to the device, one op, and back.

#include <cstdio>
#include <span>
#include <vector>

#include "tilewright/tilewright.hpp"

namespace tw = tilewright;

int main() {
  const auto be = tw::init_backend();
  std::printf("%s\n", be->device().id.c_str());

  std::vector<float> values{-2, -1, 0, 1, 2};
  const tw::Buffer x = be->alloc(5 * sizeof(float));
  be->copy_htod(x, std::as_bytes(std::span(values)));
  be->unary(tw::UnaryOp::relu, x, x, 5);
  be->copy_dtoh(std::as_writable_bytes(std::span(values)), x);
  for (float value : values) std::printf("%.1f\n", value);
}
