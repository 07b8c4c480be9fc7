#pragma once

#include <cstddef>

#include "tilewright/types.hpp"

namespace tilewright::cpu {

/// Units of a recurrent layer in a step, for all rows: gates stand `sum_stride` apart in the sums,
/// `input_stride` in the inputs, `stride` in biases and peepholes.
template <class T>
struct RecurrentUnits {
  RecurrentCell cell;
  bool second;  ///< of gru_reset_before: n and the new state, behind r and z
  std::size_t count;
  std::size_t sum_stride, input_stride, stride;
  const T* input_bias;   ///< null for none
  const T* hidden_bias;  ///< the same
  const T* peepholes;    ///< null for none
  T clip;                ///< infinity for none
};

/// One sequence's.
template <class T>
struct RecurrentRow {
  const T* sums;    ///< products of the weights
  const T* inputs;  ///< what is added to them
  const T* before;  ///< the hidden state that gru mixes
  T* cell;    ///< lstm's, read and written; z of gru_reset_before, from the first to the second
  T* after;   ///< the hidden state, or r times it of the first of gru_reset_before
  T* output;  ///< what gets the same, or null
};

template <class T>
struct RecurrentKernels {
  std::size_t width;  ///< elements of a vector

  /// sums[i][j] = sum over k of rows[i][k] * panel[k][j], j in `vectors`, 3 or 4.
  void (*product)(const T* panel, std::size_t vectors, std::size_t k, const T* const* rows,
                  std::size_t count, T* sums);
  void (*gates)(const RecurrentUnits<T>& units, const RecurrentRow<T>* rows, std::size_t count);
};

struct RecurrentTable {
  RecurrentKernels<float> float32;
  RecurrentKernels<double> float64;
};

/// The table for usable_isa().
const RecurrentTable& recurrent_table();

}  // namespace tilewright::cpu
