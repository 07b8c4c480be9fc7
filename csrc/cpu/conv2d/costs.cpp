#include <algorithm>

#include "cpu/conv2d/conv2d.hpp"

namespace tilewright::cpu {

namespace {

bool is_wide() { return kernels().simd_width >= 16; }

}  // namespace

double product_cost(Size filters, Size positions) {
  const Size lanes = static_cast<Size>(kernels().simd_width);
  // A tile of few sums waits for each of them.
  const bool is_wide = lanes >= 16;
  const Size most_filters = is_wide ? 8 : 4, least = is_wide ? 4 : 8;
  const Size most_vectors = std::clamp<Size>(positions / lanes, 1, 3);
  const Size vectors = ceil_div(positions, lanes);
  Size all = 0;
  for (Size rows = most_filters; rows > 0; rows /= 2) {
    const Size tiles = filters / rows;
    filters -= tiles * rows;
    Size of_tiles = vectors / most_vectors * std::max(rows * most_vectors, least);
    if (vectors % most_vectors != 0) of_tiles += std::max(rows * (vectors % most_vectors), least);
    all += tiles * of_tiles;
  }
  return static_cast<double>(all);
}

Size product_rows() { return is_wide() ? 8 : 4; }
double product_cycle() { return is_wide() ? 1 : 2; }

double tiles_cost(Size rows, Size vectors, double of_vector) {
  constexpr double of_taps = 2;
  const Size most_rows = product_rows(), least = is_wide() ? 4 : 12;
  double all = 0;
  const auto of_tile = [&](Size tile_rows, Size tile_vectors) {
    return std::max(
        static_cast<double>(std::max(tile_rows * tile_vectors, least)),
        static_cast<double>(tile_rows) + static_cast<double>(tile_vectors) * of_vector + of_taps);
  };
  for (Size height = most_rows; height > 0; height /= 2) {
    const Size tiles = rows / height;
    rows -= tiles * height;
    const Size width = height == 1 ? 6 : 3;
    double of_tiles = static_cast<double>(vectors / width) * of_tile(height, width);
    if (vectors % width != 0) of_tiles += of_tile(height, vectors % width);
    all += static_cast<double>(tiles) * of_tiles;
  }
  return all;
}

}  // namespace tilewright::cpu
