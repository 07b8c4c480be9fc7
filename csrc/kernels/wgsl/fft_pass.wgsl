// A pass of a workgroup over its lines, whose numbers are in registers between the reads and the writes.
// With SPLIT what they have for the next pass stays there: fft_exchange.wgsl hands it over.
// Around this file: the radix R, BEFORE, PART, ITEMS, U, and whether the pass is the FIRST, the LAST.
#for u in 0..U
  {
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#include "fft_source.wgsl"
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#include "fft_read.wgsl"
#include "fft_radix.wgsl"
#end
#end
#end
    }
  }
#end
#if LAST || !SPLIT
#if !FIRST && !LAST
  workgroupBarrier();
#end
#for u in 0..U
  {
    let item = local + ${u * GROUP}u;
#include "fft_item.wgsl"
    if (item < ${ITEMS}u) {
#include "fft_target.wgsl"
#for Q in 1..17
#if Q <= 5 || Q == 7 || Q == 8 || Q == 9 || Q == 11 || Q == 13 || Q == 16
#if R == Q
#include "fft_write.wgsl"
#end
#end
#end
    }
  }
#end
#if !LAST
  workgroupBarrier();
#end
#end
