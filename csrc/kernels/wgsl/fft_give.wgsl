// Into workgroup memory, the parts C (x or y) of what pass P leaves.
#for u in 0..U
  {
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
      let before = t % ${BEFORE}u;
      let to = line * ${PITCH}u;
      let row = (t - before) * ${R}u + before;
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#for i in 0..Q
#include "fft_from.wgsl"
      held[to + place(row + ${i * BEFORE}u)] = v${FROM}.${C};
#end
#end
#end
#end
    }
  }
#end
