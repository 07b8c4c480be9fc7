// The first N + 1 numbers of the transforms of rows of 2 N, in pairs, of those of the N complex ones.
#let PAIRS = N / 2 + 1
#if SPLIT
#let EACH_PAIRS = (LINES * PAIRS + GROUP - 1) / GROUP
#for e in 0..EACH_PAIRS
  var a${e}: ${V};
  var b${e}: ${V};
#end
#let P = PASSES - 1
#include "fft_pass_values.wgsl"
#for c in 0..2
#let C = "x"
#if c == 1
#let C = "y"
#end
#if PASSES > 1 || c == 1
  workgroupBarrier();
#end
#include "fft_give.wgsl"
  workgroupBarrier();
#for e in 0..EACH_PAIRS
  {
    let each = min(local + ${e * GROUP}u, ${LINES * PAIRS - 1}u);
    let source = each / ${PAIRS}u * ${PITCH}u;
    let k = each % ${PAIRS}u;
    a${e}.${C} = held[source + place(k)];
    b${e}.${C} = held[source + place((${N}u - k) % ${N}u)];
  }
#end
#end
#for e in 0..EACH_PAIRS
  {
    let each = local + ${e * GROUP}u;
    let line = each / ${PAIRS}u;
    let k = each % ${PAIRS}u;
    if (each < ${LINES * PAIRS}u && first + line < params.lines) { write_pair(first + line, k, a${e}, b${e}); }
  }
#end
#else
  for (var each = local; each < ${LINES * PAIRS}u; each += ${GROUP}u) {
    let line = each / ${PAIRS}u;
    let k = each % ${PAIRS}u;
    if (first + line < params.lines) {
      let source = ${APART * SIZE * ((PASSES + 1) % 2)}u + line * ${PITCH}u;
      write_pair(first + line, k, held[source + place(k)], held[source + place((${N}u - k) % ${N}u)]);
    }
  }
#end
