// C = alpha * op(A) * op(B) + beta * C, with END activation(alpha * op(A) * op(B) + bias) in place of
// the product, for row-major matrices, batched: one BM x BN tile of C a
// workgroup, TM x TN of it a work-item; SLICES work-items, 1 or 2, share that, each with BK of k
// a step.
// 0 a, 1 b, 2 c, with END 3 bias.
// Tiles of A and B lie in workgroup memory k by k, so that a work-item reads vectors of rows of A
// and of columns of B; the next tile is read from memory while this one is used. No load of the
// loop looks for an end: where k is no multiple of a step the first tile is the short one, and the
// last tiles of m and n are moved back to end where the matrix does, with what others store left
// out, unless whole_tiles says that A (1) or B (2) may be read beyond. k may be cut in `pieces`:
// the product of each is a matrix of its own in c.
// Variables: BM BN BK TM TN SLICES; TA TB (1: stored transposed); T, TC (f32 or f16); VECTOR_A,
// VECTOR_B, VECTOR_C (1: rows start and end on whole vec4); SMALL (1: C is smaller than a tile,
// whose loads then stay inside by reading the last row or column again); ROUND (of a and b, see
// rounded.wgsl); PAD (0 or 1, against bank conflicts); END, ACTIVATION.
#if T == "f16" || TC == "f16"
enable f16;
#end
#include "beta.wgsl"
#include "rounded.wgsl"
#let NX = BN / TN
#let NY = BM / TM
#let TEAM = NX * NY
#let THREADS = TEAM * SLICES
#let SPAN = BK * SLICES
// 32 neighbouring work-items form a block of LANES_X x LANES_Y, which reads the least of both
// tiles: two columns side by side, then the next two. Of every 16, those that want the same vector
// are then one or two apart, and GPUs that take 16 at a time read it once for them.
#let LANES_X = 4
#if NY < 8
#let LANES_X = 32 / NY
#end
#let LANES_Y = 32 / LANES_X
// What is stored with k along its rows is turned on its way into the tile. Neighbours that read
// vectors then write to rows four apart, whose vectors change places: the number of each is taken
// xor the row's / 4 * APART, so that the writes go to different banks. Neighbours that read single
// elements write to rows side by side, which are PAD vectors longer instead.
#let STEP_A = BM / 4 + (1 - TA) * (1 - VECTOR_A) * PAD
#let STEP_B = BN / 4 + TB * (1 - VECTOR_B) * PAD
#let APART_A = (1 - TA) * VECTOR_A * 32 / SPAN
#let APART_B = TB * VECTOR_B * 32 / SPAN
#let MOST_A = 8
#if BM < 32
#let MOST_A = BM / 4
#end
#let MOST_B = 8

struct Params {
  m: u32, n: u32, k: u32, lda: u32, ldb: u32, ldc: u32,
  stride_a: u32, stride_b: u32, stride_c: u32,
  tiles_m: u32, tiles_n: u32, pieces: u32, piece: u32, first: u32, whole_tiles: u32,
  alpha: f32, beta: f32,
#if END
  is_biased: u32,
  slope: f32, zero: u32,  // of activation.wgsl
#end
}
var<immediate> params: Params;
#if END
@group(0) @binding(3) var<storage, read> bias: array<${TC}>;
#include "activation.wgsl"
fn ended(product: vec4<f32>, column: u32) -> vec4<f32> {
  var result = product;
  if (params.is_biased != 0u) {
#for e in 0..4
    result[${e}] += f32(bias[min(column + ${e}u, params.n - 1u)]);
#end
  }
  return activated(result);
}
#end
// What is read at once: four elements or one. Four halves stay in their 8 bytes until they are used.
#if T == "f16"
#let FOUR = "vec2<u32>"
fn four(x: vec2<u32>) -> vec4<f32> { return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)); }
#else
#let FOUR = "vec4<f32>"
fn four(x: vec4<f32>) -> vec4<f32> { return x; }
#end
#let ITEM_A = T
#let ITEM_B = T
#if VECTOR_A
#let ITEM_A = FOUR
#end
#if VECTOR_B
#let ITEM_B = FOUR
#end
@group(0) @binding(0) var<storage, read> a: array<${ITEM_A}>;
@group(0) @binding(1) var<storage, read> b: array<${ITEM_B}>;
#if VECTOR_C
@group(0) @binding(2) var<storage, read_write> c: array<vec4<${TC}>>;
#else
@group(0) @binding(2) var<storage, read_write> c: array<${TC}>;
#end

var<workgroup> tile_a: array<vec4<f32>, ${SPAN * STEP_A}>;
var<workgroup> tile_b: array<vec4<f32>, ${SPAN * STEP_B}>;

#if !VECTOR_C
fn store(at: u32, col: u32, product: f32) {
  var result = params.alpha * product;
#if END
  result = ended(vec4<f32>(result), col).x;
#end
  if (adds_c()) { result += params.beta * f32(c[at]); }
  c[at] = ${TC}(result);
}
#end

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tile = group.x + group.z * groups.x;
  if (tile >= params.tiles_m * params.tiles_n) { return; }
  let first_row = tile / params.tiles_n * ${BM}u;
  let first_col = tile % params.tiles_n * ${BN}u;
#if SMALL
  let top = first_row;
  let left = first_col;
#else
  let top = select(min(first_row, params.m - ${BM}u), first_row, (params.whole_tiles & 1u) != 0u);
  let left = select(min(first_col, params.n - ${BN}u), first_col, (params.whole_tiles & 2u) != 0u);
#end
  let product = params.first + group.y;
  let batch = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let depth = min(params.k - min(start, params.k), params.piece);
  let place = t % ${TEAM}u;
  let tx = (place & 1u) | ((place / ${LANES_Y}u) & ${NX - 2}u);
  let ty = ((place / 2u) & ${LANES_Y - 1}u) | ((place / ${NX}u) & ${NY - LANES_Y}u);
#if SLICES > 1
  let slice = t / ${TEAM}u;
#else
  let slice = 0u;
#end
  let from_a = slice * ${BK * STEP_A}u + (ty ^ (slice * ${BK / 4 * APART_A % MOST_A}u));
  let from_b = slice * ${BK * STEP_B}u + (tx ^ (slice * ${BK / 4 * APART_B % MOST_B}u));
#for i in 0..TM
#for j in 0..TN
  var c${i}_${j} = 0.0;
#end
#end
  let steps = (depth + ${SPAN - 1}u) / ${SPAN}u;
  let short = depth - max(steps, 1u) * ${SPAN}u + ${SPAN}u;
  // Where each load of this work-item comes from, and where it goes: `along` walks m or n, `deep`
  // walks k.
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let DEEP_FIRST = 1 - TA
#let ORIGIN = "top"
#let EXTENT = "params.m"
#let VECTOR = VECTOR_A
#let ITEM = ITEM_A
#let STEP = STEP_A
#let MOST = MOST_A
#let APART = APART_A
#else
#let X = "b"
#let W = BN
#let DEEP_FIRST = TB
#let ORIGIN = "left"
#let EXTENT = "params.n"
#let VECTOR = VECTOR_B
#let ITEM = ITEM_B
#let STEP = STEP_B
#let MOST = MOST_B
#let APART = APART_B
#end
#let WIDTH = 1 + 3 * VECTOR
#let LOADS = SPAN * W / WIDTH / THREADS
#if DEEP_FIRST
  let along_${X} = t / ${SPAN / WIDTH}u;
  let deep_${X} = t % ${SPAN / WIDTH}u * ${WIDTH}u;
  let across_${X} = params.ld${X};
  let deep_step_${X} = 1u;
  let swap_${X} = deep_${X} / 4u * ${APART}u % ${MOST}u;
  let into_${X} = deep_${X} * ${STEP}u + ((along_${X} / 4u) ^ swap_${X});
#else
  let along_${X} = t % ${W / WIDTH}u * ${WIDTH}u;
  let deep_${X} = t / ${W / WIDTH}u;
  let across_${X} = 1u;
  let deep_step_${X} = params.ld${X};
  let into_${X} = deep_${X} * ${STEP}u + along_${X} / 4u;
#end
  let lane_${X} = along_${X} % 4u;
  var at_${X} = batch * params.stride_${X} + (start + deep_${X}) * deep_step_${X};
#if !SMALL
  at_${X} += (${ORIGIN} + along_${X}) * across_${X};
#end
  at_${X} /= ${WIDTH}u;
#for i in 0..LOADS
#let NUMBER = i * THREADS * WIDTH
#if DEEP_FIRST
#let ALONG = NUMBER / SPAN
#let DEEP = 0
#else
#let ALONG = NUMBER % W
#let DEEP = NUMBER / W
#end
#if SMALL
  let asked_${X}${i} = ${ORIGIN} + along_${X} + ${ALONG}u;
  let place_${X}${i} = select(min(asked_${X}${i}, ${EXTENT} - ${WIDTH - DEEP_FIRST * (WIDTH - 1)}u),
                              asked_${X}${i}, (params.whole_tiles & ${1 + side}u) != 0u);
#else
  let place_${X}${i} = ${ALONG}u;
#end
  let far_${X}${i} = (place_${X}${i} * across_${X} + ${DEEP}u * deep_step_${X}) / ${WIDTH}u;
  var next_${X}${i} = ${ITEM}();
  let held_${X}${i} = deep_${X} + ${DEEP}u < short;
  if (held_${X}${i}) { next_${X}${i} = ${X}[at_${X} + far_${X}${i}]; }
#if VECTOR
  let second_${X}${i} = select(select(0u, at_${X} + far_${X}${i}, held_${X}${i}),
                          at_${X} + far_${X}${i} + short * deep_step_${X} / ${WIDTH}u, steps > 1u);
  let apart_${X}${i} = second_${X}${i} - second_${X}0;
#end
#end
#if VECTOR
  at_${X} = second_${X}0;
#else
  at_${X} += short * deep_step_${X} / ${WIDTH}u;
#end
  let step_${X} = ${SPAN}u * deep_step_${X} / ${WIDTH}u;
#end

  // With two slices the test is at the end, where compilers keep in its register what goes from
  // step to step; with one the usual loop measured faster.
#if SLICES == 1
  for (var step = 0u; step < steps; step++) {
#else
  var step = 0u;
  loop {
#end
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let DEEP_FIRST = 1 - TA
#let VECTOR = VECTOR_A
#let STEP = STEP_A
#else
#let X = "b"
#let W = BN
#let DEEP_FIRST = TB
#let VECTOR = VECTOR_B
#let STEP = STEP_B
#end
#let WIDTH = 1 + 3 * VECTOR
#let LOADS = SPAN * W / WIDTH / THREADS
#for i in 0..LOADS
#let NUMBER = i * THREADS * WIDTH
#if DEEP_FIRST && VECTOR
#let LEAP = NUMBER / SPAN / 4
    let to_${X}${i} = (into_${X} ^ ${LEAP % 8}u) + ${LEAP / 8 * 8}u;
#elif DEEP_FIRST
    let to_${X}${i} = into_${X} + ${NUMBER / SPAN / 4}u;
#else
    let to_${X}${i} = into_${X} + ${NUMBER / W * STEP + NUMBER % W / 4}u;
#end
#if VECTOR && DEEP_FIRST
    let kept_${X}${i} = rounded(four(next_${X}${i}));
#for e in 0..4
    tile_${X}[to_${X}${i} + ${e * STEP}u][lane_${X}] = kept_${X}${i}[${e}];
#end
#elif VECTOR
    tile_${X}[to_${X}${i}] = rounded(four(next_${X}${i}));
#else
    tile_${X}[to_${X}${i}][lane_${X}] = rounded(vec4<f32>(f32(next_${X}${i}))).x;
#end
#end
#end
    workgroupBarrier();
    // Whole vectors are read without a branch, so that the compiler places the loads among the
    // products: the last step reads its own again.
#for side in 0..2
#if side == 0
#let X = "a"
#let W = BM
#let VECTOR = VECTOR_A
#else
#let X = "b"
#let W = BN
#let VECTOR = VECTOR_B
#end
#let LOADS = SPAN * W / (1 + 3 * VECTOR) / THREADS
#if VECTOR
#for i in 0..LOADS
    next_${X}${i} = ${X}[at_${X} + apart_${X}${i}];
#end
    at_${X} += select(0u, step_${X}, step + 2u < steps);
#else
    if (step + 1u < steps) {
#for i in 0..LOADS
      next_${X}${i} = ${X}[at_${X} + far_${X}${i}];
#end
      at_${X} += step_${X};
    }
#end
#end
#for kk in 0..BK
#let SWAP_A = kk / 4 * APART_A % MOST_A
#let SWAP_B = kk / 4 * APART_B % MOST_B
    {
#for i in 0..TM/4
#let HIGH = SWAP_A / NY
#let AT = kk * STEP_A + (i + HIGH - 2 * i * HIGH) * NY
      let x${i} = tile_a[(from_a ^ ${SWAP_A % NY}u) + ${AT}u];
#end
#for j in 0..TN/4
#let HIGH = SWAP_B / NX
#let AT = kk * STEP_B + (j + HIGH - 2 * j * HIGH) * NX
      let y${j} = tile_b[(from_b ^ ${SWAP_B % NX}u) + ${AT}u];
#end
      // There and back: each product shares an operand with the one before, which the GPU then
      // need not read from its registers again. Which is the inner one follows from measurements.
#if SLICES == 1
#for j in 0..TN
#for n in 0..TM
#let i = n + j % 2 * (TM - 1 - 2 * n)
      c${i}_${j} = fma(x${i / 4}[${i % 4}], y${j / 4}[${j % 4}], c${i}_${j});
#end
#end
#else
#for i in 0..TM
#for n in 0..TN
#let j = n + i % 2 * (TN - 1 - 2 * n)
      c${i}_${j} = fma(x${i / 4}[${i % 4}], y${j / 4}[${j % 4}], c${i}_${j});
#end
#end
#end
    }
#end
    workgroupBarrier();
#if SLICES == 2
    step++;
    if (step >= steps) { break; }
#end
  }

  // The rows of C that a work-item stores: where two share them each has half, and gives the other
  // its sums of the rest.
#let ROWS = TM / SLICES
#for j in 0..TN/4
#let COLUMNS = 4 * j
#for i in 0..ROWS
  var sum${i}_${j} = vec4<f32>(c${i}_${COLUMNS}, c${i}_${COLUMNS + 1}, c${i}_${COLUMNS + 2},
                          c${i}_${COLUMNS + 3});
#end
#if SLICES == 2
#for i in 0..ROWS
#let k = i + ROWS
  let rest${i}_${j} = vec4<f32>(c${k}_${COLUMNS}, c${k}_${COLUMNS + 1}, c${k}_${COLUMNS + 2},
                           c${k}_${COLUMNS + 3});
  tile_b[place + (1u - slice) * ${ROWS * TEAM}u + ${i * TEAM}u] =
      select(sum${i}_${j}, rest${i}_${j}, slice == 0u);
#end
  workgroupBarrier();
#for i in 0..ROWS
  sum${i}_${j} = select(rest${i}_${j}, sum${i}_${j}, slice == 0u) +
      tile_b[place + slice * ${ROWS * TEAM}u + ${i * TEAM}u];
#end
#if j + 1 < TN / 4
  workgroupBarrier();
#end
#end
#end

  let base_c = product * params.stride_c;
#if SLICES == 2 && !VECTOR_C
  // Elements that lie side by side are stored by neighbours, who find them in workgroup memory: the
  // upper half of C's tile where A was, the lower where B was.
  workgroupBarrier();
  let into = ty * ${BN}u + tx;
  if (slice == 0u) {
#for i in 0..ROWS
#for j in 0..TN/4
    tile_a[into + ${(i / 4 * NY * 4 + i % 4) * BN / 4 + j * NX}u] = sum${i}_${j};
#end
#end
  } else {
#for i in 0..ROWS
#for j in 0..TN/4
    tile_b[into + ${(i / 4 * NY * 4 + i % 4) * BN / 4 + j * NX}u] = sum${i}_${j};
#end
#end
  }
  workgroupBarrier();
  let col = left + t % ${BN}u;
  if (col < first_col || col >= params.n) { return; }
  let line = t / ${BN}u;
  let taken = line * ${BN / 4}u + t % ${BN}u / 4u;
#for half in 0..2
#let TILE = "tile_a"
#if half == 1
#let TILE = "tile_b"
#end
#for i in 0..BM * BN / 2 / THREADS
#let LINE = i * THREADS / BN
  {
    let row = top + ${half * BM / 2 + LINE}u + line;
    if (row >= first_row && row < params.m) {
      store(base_c + row * params.ldc + col, col, ${TILE}[taken + ${LINE * BN / 4}u][t % 4u]);
    }
  }
#end
#end
#elif !VECTOR_C
  // The same for every fourth row at a time.
#for i in 0..TM
#if i > 0
  workgroupBarrier();
#end
#for j in 0..TN/4
  tile_b[ty * ${BN / 4}u + tx + ${j * NX}u] = sum${i}_${j};
#end
  workgroupBarrier();
#for n in 0..TN
  {
    let element = t + ${n * THREADS}u;
    let row = top + ${i / 4 * NY * 4 + i % 4}u + element / ${BN}u * 4u;
    let col = left + element % ${BN}u;
    if (row >= first_row && row < params.m && col >= first_col && col < params.n) {
      store(base_c + row * params.ldc + col, col, tile_b[element / 4u][element % 4u]);
    }
  }
#end
#end
#else
#for i in 0..ROWS
  {
    let row = top + ${i / 4 * NY * 4 + i % 4}u + slice * ${ROWS * NY}u + ty * 4u;
    if (row >= first_row && row < params.m) {
#for j in 0..TN/4
      let col${j} = left + ${j * NX * 4}u + tx * 4u;
      let at${j} = base_c + row * params.ldc + col${j};
      var result${j} = params.alpha * sum${i}_${j};
#if END
      result${j} = ended(result${j}, col${j});
#end
      if (col${j} >= first_col && col${j} < params.n) {
        if (adds_c()) { result${j} += params.beta * vec4<f32>(c[at${j} / 4u]); }
        c[at${j} / 4u] = vec4<${TC}>(result${j});
      }
#end
    }
  }
#end
#end
}
