// How sparse products find their shares of a list of rows' ends and elements, merged in their order:
// after the elements of a row comes its end. Offsets are never taken for more than nnz.
fn row_end(row: u32) -> u32 { return min(offsets[offsets_at + row + 1u], params.nnz); }

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
