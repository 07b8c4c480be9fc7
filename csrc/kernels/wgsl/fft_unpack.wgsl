// The first N + 1 numbers of the transforms of rows of 2 N, in pairs, of those of the N complex ones.
#let PAIRS = N / 2 + 1
  for (var each = local; each < ${LINES * PAIRS}u; each += ${GROUP}u) {
    let line = each / ${PAIRS}u;
    let k = each % ${PAIRS}u;
    if (first + line < params.lines) {
      let source = ${APART * SIZE * ((PASSES + 1) % 2)}u + line * ${PITCH}u;
      let a = held[source + place(k)];
      let b = held[source + place((${N}u - k) % ${N}u)];
      let half = ${T}(0.5) * scale();
      let even = ${V}(a.x + b.x, a.y - b.y) * half;
      let odd = times(${V}(a.y + b.y, b.x - a.x) * half, roots[k]);
      let to = (first + line) * ${N + 1}u;
      output[to + k] = even + odd;
      output[to + ${N}u - k] = ${V}(even.x - odd.x, odd.y - even.y);
    }
  }
