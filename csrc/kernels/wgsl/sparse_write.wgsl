// y[row, column] = alpha * sum + beta * y[row, column]. With BLOCK rows are of blocks, and columns those
// of all their rows one after another.
fn write_sum(row: u32, column: u32, sum: ${SUM}) {
#if BLOCK
  let at = y_at + (row * params.block_rows + column / params.n) * params.ldy + column % params.n;
#else
  let at = y_at + row * params.ldy + column;
#end
  var result = sum * of_bits(params.alpha, params.alpha_high);
  if (((params.beta | params.beta_high) & 0x7fffffffu) != 0u) {
    result += ${SUM}(y[at]) * of_bits(params.beta, params.beta_high);
  }
  y[at] = ${NUMBER}(result);
}
