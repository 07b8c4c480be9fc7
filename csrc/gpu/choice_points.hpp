#pragma once

#include "core/choices.hpp"

namespace tilewright::gpu {

// Where planning has several kernels to choose from; each in the file of its op.
extern const ChoicePoint gemm_choice;
extern const ChoicePoint gemm_rows_choice;
extern const ChoicePoint gemm_pieces_choice;
extern const ChoicePoint gemm_matrix_choice;
extern const ChoicePoint gemm_bytes_matrix_choice;
extern const ChoicePoint conv2d_forward_choice;
extern const ChoicePoint attention_choice;
extern const ChoicePoint lu_panel_choice;
extern const ChoicePoint qr_panel_choice;
extern const ChoicePoint quantized_matrix_choice;

Choices::Points choice_points();

}  // namespace tilewright::gpu
