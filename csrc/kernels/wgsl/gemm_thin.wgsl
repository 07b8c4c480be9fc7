// C = alpha * op(A) * op(B) + beta * C where C has at most FEW rows or columns: every element of the
// larger operand is read once and used FEW times.
// 0 the operand of the few, 1 the other, 2 c. `few` and `many` count rows and columns of C in the
// order that makes few the smaller; deep walks k.
// k may be cut in `pieces`: the product of each is a matrix of its own in c.
// Variables: GROUP, LANES; FEW (1, 2 or 4); DEEP_FIRST (1: neighbours of the larger operand lie
// along k, LANES work-items walk it for two rows; 0: they lie along `many`, which LANES work-items
// divide, GROUP / LANES of them walk k); VECTOR (1: the walk along neighbours is in whole vec4);
// T, TC (f32 or f16); ROUND (see rounded.wgsl).
#if TC == "f16"
enable f16;
#end
#include "items.wgsl"
#include "beta.wgsl"
#include "rounded.wgsl"
struct Params {
  few: u32, many: u32, k: u32,
  few_ld: u32, few_step: u32, many_ld: u32, c_few: u32, c_many: u32,
  stride_few: u32, stride_many: u32, stride_c: u32,
  pieces: u32, piece: u32, first: u32,
  alpha: f32, beta: f32,
}
var<immediate> params: Params;
#let FEW_ITEM = T
#let FEW_WIDTH = 1
#if DEEP_FIRST
#let FEW_ITEM = ITEM
#let FEW_WIDTH = WIDTH
#end
@group(0) @binding(0) var<storage, read> few: array<${FEW_ITEM}>;
@group(0) @binding(1) var<storage, read> many: array<${ITEM}>;
@group(0) @binding(2) var<storage, read_write> c: array<${TC}>;

fn one(x: ${T}) -> f32 { return rounded(vec4<f32>(f32(x))).x; }
#if VECTOR
fn wide(x: ${ITEM}) -> vec4<f32> { return rounded(vec4<f32>(x)); }
#else
fn wide(x: ${T}) -> f32 { return one(x); }
#end
fn store(product: u32, f: u32, at: u32, sum: f32) {
  if (f >= params.few || at >= params.many) { return; }
  let place = product * params.stride_c + f * params.c_few + at * params.c_many;
  var result = params.alpha * sum;
  if (adds_c()) { result += params.beta * f32(c[place]); }
  c[place] = ${TC}(result);
}

#if DEEP_FIRST
#let ROWS = 2
#let PARTIALS = "f32"
#let SUMS = FEW * ROWS
#else
#let PARTIALS = WIDE
#let SUMS = 1
#end
var<workgroup> partial: array<${PARTIALS}, ${SUMS * GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.z * groups.x;
  let product = params.first + group.y;
  let batch = product / params.pieces;
  let start = product % params.pieces * params.piece;
  let depth = min(params.k - min(start, params.k), params.piece);
  let lane = local % ${LANES}u;
  let walker = local / ${LANES}u;
#for f in 0..FEW
  let few${f} = (batch * params.stride_few + min(${f}u, params.few - 1u) * params.few_ld +
                 start * params.few_step) / ${FEW_WIDTH}u;
#end
#if FEW_WIDTH == 1
  let few_step = params.few_step;
#else
  let few_step = 1u;
#end
#if DEEP_FIRST
  let at = (block * ${GROUP / LANES}u + walker) * ${ROWS}u;
#for r in 0..ROWS
  let row${r} = (batch * params.stride_many + min(at + ${r}u, params.many - 1u) * params.many_ld +
                 start) / ${WIDTH}u;
#for f in 0..FEW
  var sum${f}_${r} = ${WIDE}();
#end
#end
#let TURNS = 8 / FEW
  let steps = depth / ${WIDTH}u;
  var i = lane;
  for (; i + ${(TURNS - 1) * LANES}u < steps; i += ${TURNS * LANES}u) {
#for u in 0..TURNS
#for r in 0..ROWS
    let y${u}_${r} = wide(many[row${r} + i + ${u * LANES}u]);
#end
#end
#for u in 0..TURNS
#for f in 0..FEW
    let x${u}_${f} = wide(few[few${f} + (i + ${u * LANES}u) * few_step]);
#for r in 0..ROWS
    sum${f}_${r} = fma(x${u}_${f}, y${u}_${r}, sum${f}_${r});
#end
#end
#end
  }
  for (; i < steps; i += ${LANES}u) {
#for r in 0..ROWS
    let y${r} = wide(many[row${r} + i]);
#for f in 0..FEW
    sum${f}_${r} = fma(wide(few[few${f} + i * few_step]), y${r}, sum${f}_${r});
#end
#end
  }
#for f in 0..FEW
#for r in 0..ROWS
#if VECTOR
  partial[local + ${(f * ROWS + r) * GROUP}u] =
      (sum${f}_${r}.x + sum${f}_${r}.y) + (sum${f}_${r}.z + sum${f}_${r}.w);
#else
  partial[local + ${(f * ROWS + r) * GROUP}u] = sum${f}_${r};
#end
#end
#end
  for (var width = ${LANES / 2}u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) {
#for s in 0..SUMS
      partial[local + ${s * GROUP}u] += partial[local + width + ${s * GROUP}u];
#end
    }
  }
  if (lane == 0u) {
#for f in 0..FEW
#for r in 0..ROWS
    store(product, ${f}u, at + ${r}u, partial[local + ${(f * ROWS + r) * GROUP}u]);
#end
#end
  }
#else
#let WALKERS = GROUP / LANES
  let at = (block * ${LANES}u + lane) * ${WIDTH}u;
  let column = batch * params.stride_many + min(at, params.many - ${WIDTH}u);
#for f in 0..FEW
  var sum${f} = ${WIDE}();
#end
  var i = walker;
  for (; i + ${3 * WALKERS}u < depth; i += ${4 * WALKERS}u) {
#for u in 0..4
    let y${u} = wide(many[(column + (start + i + ${u * WALKERS}u) * params.many_ld) / ${WIDTH}u]);
#end
#for u in 0..4
#for f in 0..FEW
    sum${f} = fma(${WIDE}(one(few[few${f} + (i + ${u * WALKERS}u) * few_step])),
                  y${u}, sum${f});
#end
#end
  }
  for (; i < depth; i += ${WALKERS}u) {
    let y = wide(many[(column + (start + i) * params.many_ld) / ${WIDTH}u]);
#for f in 0..FEW
    sum${f} = fma(${WIDE}(one(few[few${f} + i * few_step])), y, sum${f});
#end
  }
#for f in 0..FEW
  workgroupBarrier();
  partial[local] = sum${f};
  workgroupBarrier();
  if (walker == 0u) {
    var sum = partial[lane];
    for (var w = 1u; w < ${WALKERS}u; w++) { sum += partial[lane + w * ${LANES}u]; }
#if VECTOR
#for e in 0..4
    store(product, ${f}u, at + ${e}u, sum[${e}]);
#end
#else
    store(product, ${f}u, at, sum);
#end
  }
#end
#end
}
