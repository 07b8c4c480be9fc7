// Sums of work-items that follow each other LANES apart, of rows that end in some of them: what one
// has since its last row's end goes to whoever ends the next one.
// Variables: GROUP, LANES (a power of two), SUM (sparse_numbers.wgsl).
var<workgroup> sums: array<${SUM}, ${GROUP}>;
var<workgroup> ended: array<u32, ${GROUP}>;

/// Of all up to this one: sums since the last end, and whether there is one.
fn scan(local: u32, sum: ${SUM}, ends: bool) {
  sums[local] = sum;
  ended[local] = select(0u, 1u, ends);
  for (var apart = ${LANES}u; apart < ${GROUP}u; apart *= 2u) {
    workgroupBarrier();
    var before = ${SUM}();
    var ended_before = 0u;
    if (local >= apart) {
      before = sums[local - apart];
      ended_before = ended[local - apart];
    }
    workgroupBarrier();
    if (ended[local] == 0u) {
      sums[local] = before + sums[local];
      ended[local] = ended_before;
    }
  }
  workgroupBarrier();
}
/// Of those before this one.
fn sum_before(local: u32) -> ${SUM} {
  var sum = ${SUM}();
  if (local >= ${LANES}u) { sum = sums[local - ${LANES}u]; }
  return sum;
}
fn ended_before(local: u32) -> bool {
  var has = false;
  if (local >= ${LANES}u) { has = ended[local - ${LANES}u] == 1u; }
  return has;
}
