// What pass p - 1 leaves to pass p by way of workgroup memory: all real parts, then all imaginary ones,
// which takes half as much of it as both, so that more workgroups run at a time.
#for c in 0..2
#let C = "x"
#if c == 1
#let C = "y"
#end
#let P = p - 1
#include "fft_pass_values.wgsl"
#if p > 1 || c == 1
  workgroupBarrier();
#end
#include "fft_give.wgsl"
  workgroupBarrier();
#let P = p
#include "fft_pass_values.wgsl"
#for u in 0..U
  {
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
      let of_line = line * ${PITCH}u;
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#for i in 0..Q
#if c == 0
      x${u * Q + i} = held[of_line + place(t + ${i * PART}u)];
#else
      v${u * Q + i} = ${V}(x${u * Q + i}, held[of_line + place(t + ${i * PART}u)]);
#end
#end
#end
#end
#end
    }
  }
#end
#end
