#pragma once

#include "cpu/kernels/round.hpp"
#include "cpu/kernels/rows.hpp"
#include "cpu/kernels/softmax_columns.hpp"

namespace tilewright::cpu::TILEWRIGHT_ISA {

template <class T>
constexpr RowKernels<T> row_kernels{
    .dot_rows = dot_rows,
    .dot_rows_of_several = dot_rows_of_several,
    .add_weighted_rows = add_weighted_rows,
    .add_placed_rows = add_placed_rows,
    .transpose = transpose,
};

constexpr LinearKernels linear_kernels{
    .float32 = row_kernels<float>,
    .float16 = row_kernels<Half>,
    .tap_product = tap_product,
    .softmax_step = softmax_step,
    .softmax_columns = softmax_columns,
    .weigh_columns = weigh_columns,
    .round_to_float16 = round_to_float16,
    .round_to_bfloat16 = round_to_bfloat16,
};

}  // namespace tilewright::cpu::TILEWRIGHT_ISA
