// Products of small matrices that a subgroup holds together: UM x UK times UK x UN, float16 in,
// float32 sums. Where LANES is 1 there are no matrix units: each work-item is a subgroup of its
// own and the products are spelled out, so that kernels can be tried on any device.
// Around this file: var<workgroup> held: array<vec4<u32>, ...>, which the matrices are read from
// and sums are stored to, at places counted in vec4 (eight float16, four float32).
// Variables: UM, UN, UK, LANES.
#if LANES > 1
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
#else
alias Left = array<f32, ${UM * UK}>;
alias Right = array<f32, ${UK * UN}>;
alias Sums = array<f32, ${UM * UN}>;
fn half_at(place: u32, line: u32, apart: u32, e: u32) -> f32 {
  let four = held[place + line * apart + e / 8u];
  return unpack2x16float(four[e / 2u % 4u])[e % 2u];
}
fn left_rows(place: u32, apart: u32) -> Left {
  var m: Left;
  for (var e = 0u; e < ${UM * UK}u; e++) { m[e] = half_at(place, e / ${UK}u, apart, e % ${UK}u); }
  return m;
}
fn left_columns(place: u32, apart: u32) -> Left {
  var m: Left;
  for (var e = 0u; e < ${UM * UK}u; e++) { m[e] = half_at(place, e % ${UK}u, apart, e / ${UK}u); }
  return m;
}
fn right_rows(place: u32, apart: u32) -> Right {
  var m: Right;
  for (var e = 0u; e < ${UK * UN}u; e++) { m[e] = half_at(place, e / ${UN}u, apart, e % ${UN}u); }
  return m;
}
fn right_columns(place: u32, apart: u32) -> Right {
  var m: Right;
  for (var e = 0u; e < ${UK * UN}u; e++) { m[e] = half_at(place, e % ${UN}u, apart, e / ${UN}u); }
  return m;
}
fn multiply_add(a: Left, b: Right, c: Sums) -> Sums {
  var left = a;
  var right = b;
  var sums = c;
  for (var e = 0u; e < ${UM * UN}u; e++) {
    for (var k = 0u; k < ${UK}u; k++) {
      sums[e] += left[e / ${UN}u * ${UK}u + k] * right[k * ${UN}u + e % ${UN}u];
    }
  }
  return sums;
}
fn store_sums(place: u32, apart: u32, sums: Sums) {
  var m = sums;
  for (var e = 0u; e < ${UM * UN}u; e++) {
    held[place + e / ${UN}u * apart + e % ${UN}u / 4u][e % 4u] = bitcast<u32>(m[e]);
  }
}
#end
