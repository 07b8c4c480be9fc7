// A pass of any radix, a result at a time.
  {
    workgroupBarrier();
    for (var each = local; each < ${LINES * N}u; each += ${GROUP}u) {
      let item = each % ${ITEMS}u;
      let i = each / ${ITEMS}u;
#include "fft_item.wgsl"
#include "fft_source.wgsl"
#include "fft_target.wgsl"
      var y = vec2<f32>();
      for (var j = 0u; j < ${R}u; j++) {
#if p == 0
        if (inside) {
          let x = input[source + j * ${PART}u * params.width];
          y += times_root(x, roots[i * j % ${R}u * ${PART}u]);
        }
#else
        let x = held[${FROM_HALF}u + source + place(t + j * ${PART}u)];
        y += times_root(x, roots[(angle + i * ${PART}u) * j % ${N}u]);
#end
      }
#if p == PASSES - 1
      if (inside) {
        y *= params.scale;
#if TURNED
        y = times(y, turn((t + i * ${PART}u) * middle));
#end
        output[to + i * ${PART}u * params.inner] = y;
      }
#else
      held[${TO_HALF}u + line * ${PITCH}u + place(to + i * ${BEFORE}u)] = y;
#end
    }
  }
