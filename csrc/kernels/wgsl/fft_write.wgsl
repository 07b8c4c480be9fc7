// Writes its results.
      {
        let inside = first + line < params.lines;
// A turn of its own for each number has no powers in registers, of which float64 takes two.
#let EACH = APART && T == "f64"
#if LAST
#if TURNS && !EACH
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
#include "fft_from.wgsl"
#if LAST
#if CONVOLVED
        if (inside && t + ${i * PART}u < ${LENGTH}u) {
          let x = opposite(v${FROM});
          var y = mirrored(times(x, roots[${LENGTH + i * PART}u + t])) * scale();
#else
        if (inside) {
          var y = v${FROM} * scale();
#end
#if TURNS
#if EACH
          y = times(y, turn((t + ${i * PART}u) * middle));
#else
          y = times(y, turn0);
#if i > 0
          y = times(y, w${i});
#end
#end
#end
#if KIND > 2
          store(first + line, t + ${i * PART}u, ${N}u, y);
#else
          output[to + ${i * PART}u * params.inner] = y;
#end
        }
#elif CONVOLVED && p == PASSES - 1
        held[line * ${PITCH}u + place(to + ${i * BEFORE}u)] =
            opposite(times(v${FROM}, roots[${2 * LENGTH + i * BEFORE}u + to]));
#elif AHEAD
        {
          let m = to + ${i * BEFORE}u;
          var y = v${FROM};
#include "fft_ahead.wgsl"
          held[line * ${PITCH}u + place(m)] = y;
        }
#else
        held[${TO_HALF}u + line * ${PITCH}u + place(to + ${i * BEFORE}u)] = v${FROM};
#end
#end
      }
