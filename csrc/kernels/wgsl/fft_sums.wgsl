// A pass of any radix, a result at a time.
  {
    workgroupBarrier();
    for (var each = local; each < ${LINES * N}u; each += ${GROUP}u) {
      let item = each % ${ITEMS}u;
      let i = each / ${ITEMS}u;
#include "fft_item.wgsl"
#include "fft_source.wgsl"
#include "fft_target.wgsl"
      var y = ${V}();
      for (var j = 0u; j < ${R}u; j++) {
#if p == 0
        if (inside) {
#if KIND > 0
          let x = number(source, t + j * ${PART}u, ${N}u);
#else
          let x = input[source + j * ${PART}u * params.width];
#end
          y += times_root(x, roots[i * j % ${R}u * ${PART * ROOTS}u]);
        }
#else
        let x = held[${FROM_HALF}u + source + place(t + j * ${PART}u)];
        y += times_root(x, roots[(angle + i * ${PART}u) * j % ${N}u * ${ROOTS}u]);
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
