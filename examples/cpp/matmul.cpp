// Matrix products: transposes, scales and leading dimensions of gemm.

#include <cstdio>

#include "arrays.hpp"

namespace tw = tilewright;

namespace {

void print(const std::vector<float>& matrix, std::size_t cols) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::printf("%7.1f%s", matrix[i], (i + 1) % cols == 0 ? "\n" : "");
  }
}

}  // namespace

int main() {
  constexpr auto none = tw::Transpose::none, transpose = tw::Transpose::transpose;
  const auto be = tw::init_backend();
  const tw::Buffer a = upload(*be, {1, 2, 3, 4, 5, 6});     // 2 x 3
  const tw::Buffer b = upload(*be, {7, 8, 9, 10, 11, 12});  // 3 x 2
  const tw::Buffer c = be->alloc(4 * sizeof(float));        // 2 x 2

  std::printf("A B\n");
  be->gemm(none, none, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
  print(download(*be, c), 2);

  // A transposed is 3 x 2, so its product with A is 3 x 3.
  std::printf("2 A^T A + 3\n");
  const tw::Buffer d = upload(*be, std::vector<float>(9, 1));
  be->gemm(transpose, none, 3, 3, 2, 2, a, 3, a, 3, 3, d, 3);
  print(download(*be, d), 3);

  // The first two columns of A alone: the leading dimension stays 3.
  std::printf("A[:, :2] B[:2]\n");
  be->gemm(none, none, 2, 2, 2, 1, a, 3, b, 2, 0, c, 2);
  print(download(*be, c), 2);
}
