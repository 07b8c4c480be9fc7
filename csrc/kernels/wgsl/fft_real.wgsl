// What real rows are read as: number k of the complex line, of n, that starts at `row` of input.
fn number(row: u32, k: u32, n: u32) -> ${V} {
#if KIND == 2
  let a = input[row + k];
  let b = input[row + n - k];
  if (k == 0u) { return ${V}(a.x + b.x, a.x - b.x); }
  let odd = times(${V}(-(a.y + b.y), a.x - b.x), own_root(roots[k]));
  return ${V}(a.x + b.x, a.y - b.y) + odd;
#elif KIND == 3
  return ${V}(input[row + k], ${T}(0));
#elif KIND == 4
  if (k == 0u) { return ${V}(input[row].x, ${T}(0)); }
  if (k <= n / 2u) { return input[row + k]; }
  let mirrored = input[row + n - k];
  return ${V}(mirrored.x, -mirrored.y);
#else
  return input[row + k];
#end
}
#if KIND > 2
/// Number k of the transform of a row.
fn store(row: u32, k: u32, n: u32, y: ${V}) {
#if KIND == 3
  if (k <= n / 2u) { output[row * (n / 2u + 1u) + k] = y; }
#else
  output[row * n + k] = y.x;
#end
}
#end
#if KIND == 1
/// Numbers k and N - k of the transform of a row of 2 N, by those of the N complex ones.
fn write_pair(row: u32, k: u32, a: ${V}, b: ${V}) {
  let half = ${T}(0.5) * scale();
  let even = ${V}(a.x + b.x, a.y - b.y) * half;
  let odd = times(${V}(a.y + b.y, b.x - a.x) * half, roots[k]);
  let to = row * ${N + 1}u;
  output[to + k] = even + odd;
  output[to + ${N}u - k] = ${V}(even.x - odd.x, odd.y - even.y);
}
#end
