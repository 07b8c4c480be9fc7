// How sparse products find their shares of a list of rows' ends and elements, merged in their order:
// after the elements of a row comes its end. Offsets are never taken for more than nnz.
fn row_end(row: u32) -> u32 { return min(offsets[row + 1u], params.nnz); }

/// How many rows end within the first so many items.
fn rows_before(items: u32) -> u32 {
  var first = 0u;
  var left = params.rows;
  while (left > 0u) {
    let half = left / 2u;
    let row = first + half;
    if (row_end(row) + row + 1u <= items) {
      first = row + 1u;
      left -= half + 1u;
    } else {
      left = half;
    }
  }
  return first;
}

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
