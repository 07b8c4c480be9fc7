// Reads the Q numbers of a butterfly, turned by their roots.
#for i in 0..Q
#if FIRST
#if KIND > 0
      if (inside) { v${u * Q + i} = number(source, t + ${i * PART}u, ${N}u); }
#elif CONVOLVED
      if (inside && t + ${i * PART}u < ${LENGTH}u) {
        let x = mirrored(input[source + ${i * PART}u * params.width]);
        v${u * Q + i} = times(x, roots[${LENGTH + i * PART}u + t]);
      }
#else
      if (inside) { v${u * Q + i} = input[source + ${i * PART}u * params.width]; }
#end
#elif !SPLIT
      v${u * Q + i} = held[${FROM_HALF}u + source + place(t + ${i * PART}u)];
#end
#end
#if p > 0
#if Q > 1
      {
        let w1 = own_root(roots[${ROOTS_AT}u + angle * ${ROOTS}u]);
#if Q > 4
        let w4 = own_root(roots[${ROOTS_AT}u + angle * ${4 * ROOTS}u]);
#end
#include "fft_powers.wgsl"
#for i in 1..Q
        v${u * Q + i} = times(v${u * Q + i}, w${i});
#end
      }
#end
#end
