// Matrices of matrix_types.wgsl from and to workgroup memory.
// Around this file: var<workgroup> held: array<vec4<u32>, ...>, which the matrices are read from
// and sums are stored to, at places counted in vec4 (eight float16, four float32).
// Variables: UM, UN, UK.
#include "matrix_halves.wgsl"
#include "matrix_types.wgsl"
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
fn store_sums(place: u32, apart: u32, sums: Sums) {
  subgroupMatrixStore<row_major>(&held, place, sums, apart);
}
