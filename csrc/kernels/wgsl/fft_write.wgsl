// Writes its results.
      {
        let inside = first + line < params.lines;
#if p == PASSES - 1
#if TURNED
        let turn0 = turn(t * middle);
#if Q > 1
        let w1 = turn(${PART}u * middle);
#if Q > 4
        let w4 = turn(${4 * PART}u * middle);
#end
#include "fft_powers.wgsl"
#end
#end
#end
#for i in 0..Q
#let FROM = u * Q + (Q == 16) * (i % 4 * 4 + i / 4) + (Q == 9) * (i % 3 * 3 + i / 3) + (Q == 8) * (i % 2 * 4 + i / 2) + (Q != 16 && Q != 9 && Q != 8) * i
#if p == PASSES - 1
        if (inside) {
          var y = v${FROM} * params.scale;
#if TURNED
          y = times(y, turn0);
#if i > 0
          y = times(y, w${i});
#end
#end
          output[to + ${i * PART}u * params.inner] = y;
        }
#else
        held[${TO_HALF}u + line * ${PITCH}u + place(to + ${i * BEFORE}u)] = v${FROM};
#end
#end
      }
