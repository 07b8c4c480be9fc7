// A pass of an odd radix: of sums and differences of numbers as far from both ends, which give results i
// and R - i together, a pair of them at a time.
  {
    workgroupBarrier();
    for (var each = local; each < ${ITEMS * (R / 2 + 1)}u; each += ${GROUP}u) {
      let item = each % ${ITEMS}u;
      let i = each / ${ITEMS}u;
#include "fft_item.wgsl"
#include "fft_source.wgsl"
      var even = ${V}();
      var odd = ${V}();
#if p == 0
      if (inside) {
#if KIND > 0
        even = number(source, t, ${N}u);
#else
        even = input[source];
#end
      }
#else
      even = held[${FROM_HALF}u + source + place(t)];
#end
      var at = 0u;
      for (var j = 1u; j <= ${R / 2}u; j++) {
        // Once around at most: what is below that wraps to a large number.
        at = min(at + i * ${PART}u, at + i * ${PART}u - ${N}u);
        let root = roots[at * ${ROOTS}u];
        var a = ${V}();
        var b = ${V}();
#if p == 0
        if (inside) {
#if KIND > 0
          a = number(source, t + j * ${PART}u, ${N}u);
          b = number(source, t + (${R}u - j) * ${PART}u, ${N}u);
#else
          a = input[source + j * ${PART}u * params.width];
          b = input[source + (${R}u - j) * ${PART}u * params.width];
#end
        }
#else
        a = held[${FROM_HALF}u + source + place(t + j * ${PART}u)];
        b = held[${FROM_HALF}u + source + place(t + (${R}u - j) * ${PART}u)];
        if (${BEFORE}u > 1u) {
          a = times_root(a, roots[angle * j * ${ROOTS}u]);
          b = times_root(b, roots[angle * (${R}u - j) * ${ROOTS}u]);
        }
#end
        even += (a + b) * root.x;
        odd -= (a - b) * root.y;
      }
      odd = quarter(odd);
#include "fft_target.wgsl"
      // At i, and where that is another one at R - i.
      var k = i;
      for (var s = 0u; s <= min(i, 1u); s++) {
        var y = even + odd;
#if LAST
        if (inside) {
          y *= scale();
#if TURNS
          y = times(y, turn((t + k * ${PART}u) * middle));
#end
#if KIND > 2
          store(first + line, t + k * ${PART}u, ${N}u, y);
#else
          output[to + k * ${PART}u * params.inner] = y;
#end
        }
#else
        held[${TO_HALF}u + line * ${PITCH}u + place(to + k * ${BEFORE}u)] = y;
#end
        odd = -odd;
        k = ${R}u - i;
      }
    }
  }
