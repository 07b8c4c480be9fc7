// A pass of a prime R above 13 over the lines in workgroup memory, neither the first nor the last: of
// sums and differences of numbers as far from both ends, which give results k and R - k together. A
// work-item has up to 6 of these pairs of a butterfly, which few registers hold; those side by side, of a
// subgroup where there are enough, have the same ones. The numbers are turned already.
// Up to 47 the roots are constants, which costs no registers; above, where the text would be long, those
// of the table.
#let HALF = R / 2 + 1
#let CHUNKS = (HALF + 5) / 6
#let K = (HALF + CHUNKS - 1) / CHUNKS
#let PAIR_U = (ITEMS * CHUNKS + GROUP - 1) / GROUP
#let APIECE = (ITEMS + 31) / 32 * 32
#if APIECE * CHUNKS > PAIR_U * GROUP
#let APIECE = ITEMS
#end
#let START = (R == 19) * 17 + (R == 23) * 36 + (R == 29) * 59 + (R == 31) * 88 + (R == 37) * 119 + (R == 41) * 156 + (R == 43) * 197 + (R == 47) * 240
#for i in 0..PAIR_U * K
  var even${p}_${i} = ${V}();
  var odd${p}_${i} = ${V}();
#end
#for u in 0..PAIR_U
  {
    let each = local + ${u * GROUP}u;
    let item = each % ${APIECE}u;
    if (each < ${APIECE * CHUNKS}u && item < ${ITEMS}u) {
#include "fft_item.wgsl"
      let of_line = line * ${PITCH}u;
      let first_number = held[of_line + place(t)];
#if R <= 47
      switch each / ${APIECE}u {
#for c in 0..CHUNKS
#if c < CHUNKS - 1
        case ${c}u: {
#else
        default: {
#end
#for q in 0..K
          even${p}_${u * K + q} = first_number;
#end
#for j in 1..HALF
          {
            let a = held[of_line + place(t + ${j * PART}u)];
            let b = held[of_line + place(t + ${(R - j) * PART}u)];
            let sum = a + b;
            let difference = a - b;
#for q in 0..K
#let k = c * K + q
#if k == 0
            even${p}_${u * K} += sum;
#elif k < HALF
            even${p}_${u * K + q} += sum * CIRCLE_OF_PRIME${START + j * k % R}.x;
            odd${p}_${u * K + q} -= difference * CIRCLE_OF_PRIME${START + j * k % R}.y;
#end
#end
          }
#end
        }
#end
      }
#else
      let k = each / ${APIECE}u * ${K}u;
#for q in 0..K
      let step${q} = (k + ${q}u) * ${PART * ROOTS}u;
      var angle${q} = 0u;
      even${p}_${u * K + q} = first_number;
#end
      for (var j = 1u; j < ${HALF}u; j++) {
        let a = held[of_line + place(t + j * ${PART}u)];
        let b = held[of_line + place(t + (${R}u - j) * ${PART}u)];
        let sum = a + b;
        let difference = a - b;
#for q in 0..K
        // Once around at most: what is below that wraps to a large number.
        angle${q} = min(angle${q} + step${q}, angle${q} + step${q} - ${N * ROOTS}u);
        let root${q} = roots[angle${q}];
        even${p}_${u * K + q} += sum * root${q}.x;
        odd${p}_${u * K + q} -= difference * root${q}.y;
#end
      }
#end
    }
  }
#end
  workgroupBarrier();
#for u in 0..PAIR_U
  {
    let each = local + ${u * GROUP}u;
    let item = each % ${APIECE}u;
    if (each < ${APIECE * CHUNKS}u && item < ${ITEMS}u) {
#include "fft_item.wgsl"
      let before = t % ${BEFORE}u;
      let row = (t - before) * ${R}u + before;
      let of_line = line * ${PITCH}u;
#for q in 0..K
      {
        let k = each / ${APIECE}u * ${K}u + ${q}u;
        if (k < ${HALF}u) {
          let even = even${p}_${u * K + q};
          let odd = quarter(odd${p}_${u * K + q});
#for s in 0..2
          {
#if s == 0
            let m = row + k * ${BEFORE}u;
            var y = even + odd;
#else
            let m = row + (${R}u - max(k, 1u)) * ${BEFORE}u;
            var y = even - odd;
#end
#if AHEAD
#include "fft_ahead.wgsl"
#end
#if s == 0
            held[of_line + place(m)] = y;
#else
            if (k > 0u) { held[of_line + place(m)] = y; }
#end
          }
#end
        }
      }
#end
    }
  }
#end
  workgroupBarrier();
