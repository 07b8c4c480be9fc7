// Products of small matrices that a subgroup holds together: UM x UK times UK x UN, float16 in,
// float32 sums.
// Around this file: var<workgroup> held: array<vec4<u32>, ...>, which the matrices are read from
// and sums are stored to, at places counted in vec4 (eight float16, four float32).
// Variables: UM, UN, UK.
alias Left = subgroup_matrix_left<f16, ${UK}, ${UM}>;
alias Right = subgroup_matrix_right<f16, ${UN}, ${UK}>;
alias Sums = subgroup_matrix_result<f32, ${UN}, ${UM}>;
fn left_rows(place: u32, apart: u32) -> Left {
  return subgroupMatrixLoad<Left, row_major>(&held, place, apart);
}
fn left_columns(place: u32, apart: u32) -> Left {
  return subgroupMatrixLoad<Left, col_major>(&held, place, apart);
}
fn right_rows(place: u32, apart: u32) -> Right {
  return subgroupMatrixLoad<Right, row_major>(&held, place, apart);
}
fn right_columns(place: u32, apart: u32) -> Right {
  return subgroupMatrixLoad<Right, col_major>(&held, place, apart);
}
fn multiply_add(left: Left, right: Right, sums: Sums) -> Sums {
  return subgroupMatrixMultiplyAccumulate(left, right, sums);
}
fn store_sums(place: u32, apart: u32, sums: Sums) {
  subgroupMatrixStore<row_major>(&held, place, sums, apart);
}
