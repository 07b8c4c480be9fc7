// Sums of what work-items side by side have.
// Variables: GROUP, SUM (sparse_numbers.wgsl).
var<workgroup> own_sums: array<${SUM}, ${GROUP}>;

/// Of `walkers` of them, a power of two; the first of these has it.
fn sum_of(own: ${SUM}, walkers: u32, local: u32) -> ${SUM} {
  own_sums[local] = own;
  for (var apart = walkers / 2u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (local % walkers < apart) { own_sums[local] += own_sums[local + apart]; }
  }
  let sum = own_sums[local];
  workgroupBarrier();
  return sum;
}
