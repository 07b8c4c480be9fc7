// A pass of any radix, a result at a time.
  {
    workgroupBarrier();
    for (var each = local; each < ${LINES * N}u; each += ${GROUP}u) {
      let item = each % ${ITEMS}u;
      let i = each / ${ITEMS}u;
#include "fft_item.wgsl"
#include "fft_source.wgsl"
#include "fft_target.wgsl"
      // How far the roots of two numbers side by side are from each other: below N, where they go round.
#if p == 0
      let turn_of_one = i * ${PART}u;
#else
      let turn_of_one = angle + i * ${PART}u;
#end
      var at = 0u;
      var y = ${V}();
      for (var j = 0u; j < ${R}u; j++) {
        let root = roots[at * ${ROOTS}u];
        at = min(at + turn_of_one, at + turn_of_one - ${N}u);
#if p == 0
        if (inside) {
#if KIND > 0
          let x = number(source, t + j * ${PART}u, ${N}u);
#else
          let x = input[source + j * ${PART}u * params.width];
#end
          y += times_root(x, root);
        }
#else
        let x = held[${FROM_HALF}u + source + place(t + j * ${PART}u)];
        y += times_root(x, root);
#end
      }
#if LAST
      if (inside) {
        y *= scale();
#if TURNS
        y = times(y, turn((t + i * ${PART}u) * middle));
#end
#if KIND > 2
        store(first + line, t + i * ${PART}u, ${N}u, y);
#else
        output[to + i * ${PART}u * params.inner] = y;
#end
      }
#else
      held[${TO_HALF}u + line * ${PITCH}u + place(to + i * ${BEFORE}u)] = y;
#end
    }
  }
