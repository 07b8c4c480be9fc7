// Products of elements, and what is said of a column outside.
// Around this file: faults, sparse_numbers.wgsl.
/// The first of a launch that has found a column outside says which.
fn report(column: u32) {
  if (atomicMax(&faults[0], 1u) != 0u) { return; }
  atomicStore(&faults[1], params.name);
  atomicStore(&faults[2], 1u);
  atomicStore(&faults[3], params.cols);
  atomicStore(&faults[4], column);
  atomicStore(&faults[5], select(0u, 0xffffffffu, column > 0x7fffffffu));
  atomicStore(&faults[6], 1u);
}

fn plus_product(sum: ${SUM}, a: ${SUM}, b: ${SUM}) -> ${SUM} {
#if COMPLEX
  return ${SUM}(fma(a.x, b.x, fma(-a.y, b.y, sum.x)), fma(a.x, b.y, fma(a.y, b.x, sum.y)));
#else
  return fma(a, b, sum);
#end
}
