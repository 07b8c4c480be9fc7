// Products of small matrices that a subgroup holds together: UM x UK times UK x UN.
// Variables: UM, UN, UK; FACTOR (f16, i8 or u8) and SUM (f32, i32 or u32), what they have for elements.
alias Left = subgroup_matrix_left<${FACTOR}, ${UK}, ${UM}>;
alias Right = subgroup_matrix_right<${FACTOR}, ${UN}, ${UK}>;
alias Sums = subgroup_matrix_result<${SUM}, ${UN}, ${UM}>;
fn multiply_add(left: Left, right: Right, sums: Sums) -> Sums {
  return subgroupMatrixMultiplyAccumulate(left, right, sums);
}
