// The transform of the Q numbers of v from u * Q on, in their place. Of 8, 9 and 16 the result at i is where two short
// ones leave it: fft.wgsl's FROM.
#let A0 = u * Q
#if Q == 1
#elif Q == 2
      {
        let a = v${A0};
        let b = v${A0 + 1};
        v${A0} = a + b;
        v${A0 + 1} = a - b;
      }
#elif Q == 3
#let A = A0
#let S = 1
#include "fft_three.wgsl"
#elif Q == 4
#let A = A0
#let S = 1
#include "fft_four.wgsl"
#elif Q == 8
#for j in 0..4
      {
        let a = v${A0 + j};
        let b = v${A0 + j + 4};
        v${A0 + j} = a + b;
#if j == 0
        v${A0 + j + 4} = a - b;
#else
        v${A0 + j + 4} = times_root(a - b, CIRCLE${48 + 2 * j});
#end
      }
#end
#for q in 0..2
#let A = A0 + 4 * q
#let S = 1
#include "fft_four.wgsl"
#end
#elif Q == 9
#for j in 0..3
#let A = A0 + j
#let S = 3
#include "fft_three.wgsl"
#if j > 0
#for q in 1..3
      v${A0 + j + 3 * q} = times_root(v${A0 + j + 3 * q}, CIRCLE${39 + j * q});
#end
#end
#end
#for q in 0..3
#let A = A0 + 3 * q
#let S = 1
#include "fft_three.wgsl"
#end
#elif Q == 16
#for j in 0..4
#let A = A0 + j
#let S = 4
#include "fft_four.wgsl"
#if j > 0
#for q in 1..4
      v${A0 + j + 4 * q} = times_root(v${A0 + j + 4 * q}, CIRCLE${48 + j * q});
#end
#end
#end
#for q in 0..4
#let A = A0 + 4 * q
#let S = 1
#include "fft_four.wgsl"
#end
#else
// Any odd one: of sums and differences of numbers as far from both ends.
#let START = (Q == 5) * 3 + (Q == 7) * 8 + (Q == 11) * 15 + (Q == 13) * 26
      {
        let first = v${A0};
#for j in 1..Q / 2 + 1
        let sum${j} = v${A0 + j} + v${A0 + Q - j};
        let difference${j} = v${A0 + j} - v${A0 + Q - j};
#end
#for k in 1..Q / 2 + 1
        {
          var even = first;
          var odd = ${V}();
#for j in 1..Q / 2 + 1
          even += sum${j} * CIRCLE${START + j * k % Q}.x;
          odd -= difference${j} * CIRCLE${START + j * k % Q}.y;
#end
          odd = quarter(odd);
          v${A0 + k} = even + odd;
          v${A0 + Q - k} = even - odd;
        }
#end
#for j in 1..Q / 2 + 1
        v${A0} += sum${j};
#end
      }
#end
