#include "gpu/choice_points.hpp"

namespace tilewright::gpu {

Choices::Points choice_points() {
  static constexpr const ChoicePoint* all[] = {&gemm_choice,
                                               &gemm_rows_choice,
                                               &gemm_pieces_choice,
                                               &gemm_matrix_choice,
                                               &gemm_bytes_matrix_choice,
                                               &conv2d_forward_choice,
                                               &attention_choice,
                                               &lu_panel_choice,
                                               &qr_panel_choice,
                                               &quantized_matrix_choice};
  return all;
}

}  // namespace tilewright::gpu
