// y[row, column] = alpha * sum + beta * y[row, column].
fn write_sum(row: u32, column: u32, sum: ${SUM}) {
  let at = row * params.ldy + column;
  var result = sum * of_bits(params.alpha, params.alpha_high);
  if (((params.beta | params.beta_high) & 0x7fffffffu) != 0u) {
    result += ${SUM}(y[at]) * of_bits(params.beta, params.beta_high);
  }
  y[at] = ${NUMBER}(result);
}
