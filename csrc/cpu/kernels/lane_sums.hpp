#pragma once

#include <cstddef>

#include "cpu/kernels/conv_table.hpp"
#include "cpu/kernels/simd.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

/// Products of `count` pairs of vectors, in two sums that do not wait for each other.
template <std::size_t count>
__attribute__((always_inline)) static inline void add_lane_products(const float* a, const float* b,
                                                                    std::ptrdiff_t a_step,
                                                                    std::ptrdiff_t b_step,
                                                                    Floats (&sums)[2]) {
#pragma GCC unroll 8
  for (std::size_t k = 0; k < count; ++k) {
    sums[k % 2] += load(a + static_cast<std::ptrdiff_t>(k) * a_step) *
                   load(b + static_cast<std::ptrdiff_t>(k) * b_step);
  }
}

/// A row of meetings of columns whose length is a constant.
template <std::size_t count>
static void add_lane_rows(const LaneMeeting& row, std::ptrdiff_t a_row, std::ptrdiff_t b_row,
                          std::ptrdiff_t a_step, std::ptrdiff_t b_step, const float* a,
                          const float* b, Floats (&sums)[2]) {
  for (std::size_t y = 0; y < row.count; ++y, a += a_row, b += b_row) {
    add_lane_products<count>(a, b, a_step, b_step, sums);
  }
}

static void lane_sums(const LaneSums& p) {
  constexpr auto width = static_cast<std::ptrdiff_t>(lanes);
  const std::ptrdiff_t a_step = p.columns.a_step * width, b_step = p.columns.b_step * width;
  const std::ptrdiff_t a_row = p.rows.a_step * p.a_width * width;
  const std::ptrdiff_t b_row = p.rows.b_step * p.b_width * width;
  float* to = p.to;
  for (std::size_t y = 0; y < p.rows.count; ++y) {
    const LaneMeeting& row = p.rows.of[y];
    const float* const a_first = p.a + row.a * p.a_width * width;
    const float* const b_first = p.b + row.b * p.b_width * width;
    for (std::size_t x = 0; x < p.columns.count; ++x, to += lanes) {
      const LaneMeeting& column = p.columns.of[x];
      const float* a = a_first + column.a * width;
      const float* b = b_first + column.b * width;
      Floats sums[2] = {load(p.start != nullptr ? p.start : to), Floats{}};
      switch (column.count) {
        case 0:
          break;
        case 1:
          add_lane_rows<1>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 2:
          add_lane_rows<2>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 3:
          add_lane_rows<3>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 4:
          add_lane_rows<4>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 5:
          add_lane_rows<5>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 6:
          add_lane_rows<6>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        case 7:
          add_lane_rows<7>(row, a_row, b_row, a_step, b_step, a, b, sums);
          break;
        default:
          for (std::size_t k = 0; k < row.count; ++k, a += a_row, b += b_row) {
            const float* own_a = a;
            const float* own_b = b;
            std::size_t left = column.count;
            for (; left >= 4; left -= 4, own_a += 4 * a_step, own_b += 4 * b_step) {
              add_lane_products<4>(own_a, own_b, a_step, b_step, sums);
            }
            for (; left > 0; --left, own_a += a_step, own_b += b_step) {
              add_lane_products<1>(own_a, own_b, a_step, b_step, sums);
            }
          }
          break;
      }
      store(to, sums[0] + sums[1]);
    }
  }
}

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
