// Products of small matrices that a subgroup holds together: UM x UK times UK x UN, float16 in,
// float32 sums.
// Variables: UM, UN, UK.
alias Left = subgroup_matrix_left<f16, ${UK}, ${UM}>;
alias Right = subgroup_matrix_right<f16, ${UN}, ${UK}>;
alias Sums = subgroup_matrix_result<f32, ${UN}, ${UM}>;
fn multiply_add(left: Left, right: Right, sums: Sums) -> Sums {
  return subgroupMatrixMultiplyAccumulate(left, right, sums);
}
