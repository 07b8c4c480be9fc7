// Numbers to the device, one op, and back.

#include <cstdio>

#include "arrays.hpp"

namespace tw = tilewright;

int main() {
  const auto be = tw::init_backend();
  std::printf("%s\n", be->device().id.c_str());

  const tw::Buffer x = upload(*be, {-2, -1, 0, 1, 2});
  be->unary(tw::UnaryOp::relu, x, x, 5);
  for (float value : download(*be, x)) std::printf("%.1f\n", value);
}
