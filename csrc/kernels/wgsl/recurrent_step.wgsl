// One step of a recurrent layer, the products by its weights with what the gates make of them. LANES
// work-items walk the rows of UNITS units, with all their gates, for ROWS sequences: a weight is
// read once for these. Then they join their sums, each of them those of one product, and one
// work-item for each unit and sequence has the gates.
// KIND: rnn, lstm, gru; reset_first and reset_second, the two products of gru_reset_before, between
// which its cells hold z; project, of lstm's hidden state.
// 0 inputs, 1 weights, 2 biases, those of the inputs first, or peepholes, 3 lengths (with SINGLE the
// cell state before), 4 what is multiplied, 5 the hidden state behind (of reset_second and project
// first that before), or what is multiplied next, 6 cells, 7 outputs.
// Variables: GROUP, LANES (a power of two from 32 on), ROWS, KIND, VECTOR (1: rows of weights are
// whole vec4), T, SINGLE (1: there is no other step: states are stored as T).
// More flags: 512, of lstm, the hidden state is projected yet; of a single step there are 32 the
// hidden state before, 64 the cell state, and wanted are 128 the hidden one behind, 256 the cell.
//! T: f32 f16 f64
//! KIND: rnn lstm gru reset_first reset_second project
//! VECTOR: 0 1
//! ROWS: 1 2
//! SINGLE: 0 1
//! only: T != "f64" or VECTOR + SINGLE == 0
//! only: SINGLE == 0 or KIND in ("rnn", "lstm", "gru")
//! LANES: constant
//! GROUP: 256
#let VEC = "vec4<f32>"
#if T == "f16"
enable f16;
#let VEC = "vec4<f16>"
#end
struct Params {
  units: u32, rows: u32, blocks: u32, k: u32, t: u32, steps: u32,
  gate_stride: u32, first_gate: u32, all_gates: u32,
  input_start: u32, input_batch: u32, input_step: u32,
  output_start: u32, output_batch: u32, output_step: u32,
  flags: u32, clip: f32, zero: u32,
}
var<immediate> params: Params;
#include "recurrent_gates.wgsl"
#let GATES = 1
#if KIND == "lstm"
#let GATES = 4
#elif KIND == "gru"
#let GATES = 3
#elif KIND == "reset_first"
#let GATES = 2
#end
#let UNITS = 4 / GATES
#let WEIGHTS = GATES * UNITS
// Sums of a work-item, with those that a third gate leaves out.
#let SUMS = 4 * ROWS
#let STATE = SUM
#if SINGLE
#let STATE = T
#end
#let ITEM = T
#let SOURCE = STATE
#let WIDE = SUM
#let WIDTH = 1
#if VECTOR
#let ITEM = VEC
#let SOURCE = "vec4<f32>"
#let WIDE = "vec4<f32>"
#let WIDTH = 4
#if SINGLE
#let SOURCE = VEC
#end
#end
#let HAS_CELLS = KIND == "lstm" || KIND == "reset_first" || KIND == "reset_second"
#let GOES_OUT = KIND != "reset_first"
@group(0) @binding(0) var<storage, read> inputs: array<${T}>;
@group(0) @binding(1) var<storage, read> weights: array<${ITEM}>;
@group(0) @binding(2) var<storage, read> extra: array<${T}>;
#if SINGLE
@group(0) @binding(3) var<storage, read> cells_before: array<${T}>;
#else
@group(0) @binding(3) var<storage, read> lengths: array<i32>;
#end
@group(0) @binding(4) var<storage, read> source: array<${SOURCE}>;
@group(0) @binding(5) var<storage, read_write> behind: array<${STATE}>;
@group(0) @binding(6) var<storage, read_write> cells: array<${STATE}>;
@group(0) @binding(7) var<storage, read_write> outputs: array<${T}>;
var<workgroup> partial: array<${SUM}, ${SUMS / 2 * GROUP}>;

#if VECTOR
fn plus_product(x: vec4<f32>, y: vec4<f32>, sum: f32) -> f32 {
  return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, fma(x.x, y.x, sum))));
}
#else
fn plus_product(x: ${SUM}, y: ${SUM}, sum: ${SUM}) -> ${SUM} { return fma(x, y, sum); }
#end
/// An element of what is multiplied.
fn source_at(at: u32) -> ${SUM} {
#if VECTOR
  let four = vec4<f32>(source[at / 4u]);
  let c = at % 4u;
  return select(select(four.x, four.y, c == 1u), select(four.z, four.w, c == 3u), c > 1u);
#else
  return ${SUM}(source[at]);
#end
}
#if !SINGLE
fn length_of(row: u32) -> u32 {
  if (!is_set(2u)) { return params.steps; }
  return min(u32(max(lengths[row], 0)), params.steps);
}
#end
fn peephole(gate: u32, unit: u32) -> ${SUM} {
  if (!is_set(1024u)) { return ${SUM}(0); }
  return ${SUM}(extra[gate * params.gate_stride + unit]);
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let block = group.x + group.y * groups.x;
  let first_row = block / params.blocks * ${ROWS}u;
  if (first_row >= params.rows) { return; }
  let lane = local % ${LANES}u;
  let team = local / ${LANES}u;
  let first_unit = (block % params.blocks * (${GROUP}u / ${LANES}u) + team) * ${UNITS}u;
  // The unit and sequence that are this work-item's in the end.
  let unit = first_unit + lane % ${UNITS}u;
  let row = first_row + lane / ${UNITS}u;
  let is_one = lane < ${UNITS * ROWS}u && unit < params.units && row < params.rows;
  let at = row * params.units + unit;
  var count = select(0u, params.k, first_unit < params.units);
  var place = params.t;
  var is_active = is_one;
#if SINGLE
  if (!is_set(32u)) { count = 0u; }
#else
  if (is_set(2u)) {
    var longest = 0u;
#for r in 0..ROWS
    longest = max(longest, length_of(min(first_row + ${r}u, params.rows - 1u)));
#end
    if (params.t >= longest) { count = 0u; }
  }
  if (is_one) {
    let length = length_of(row);
    is_active = params.t < length;
    place = place_of(params.t, length);
  }
#end
  // These are on their way while products are summed.
#if KIND != "project"
#for g in 0..GATES
  var x${g} = ${SUM}(0);
  var bias${g} = ${SUM}(0);
#end
  if (is_active) {
    let input = params.input_start + place * params.input_step + row * params.input_batch +
               params.first_gate * params.gate_stride + unit;
#for g in 0..GATES
    x${g} = ${SUM}(inputs[input + ${g}u * params.gate_stride]);
#end
    if (is_set(4u)) {
      let bias = params.first_gate * params.gate_stride + unit;
#for g in 0..GATES
      x${g} += ${SUM}(extra[bias + ${g}u * params.gate_stride]);
      bias${g} = ${SUM}(extra[bias + (${g}u + params.all_gates) * params.gate_stride]);
#end
    }
  }
#end
#for w in 0..WEIGHTS
  let weight${w} = (${w / UNITS}u * params.gate_stride +
                    min(first_unit + ${w % UNITS}u, params.units - 1u)) * params.k;
#end
  let first_weight = params.first_gate * params.gate_stride * params.k;
#for r in 0..ROWS
  let source${r} = min(first_row + ${r}u, params.rows - 1u) * params.k;
#end
#for s in 0..SUMS
  var sum${s} = ${SUM}(0);
#end
  for (var i = lane; i < count; i += ${LANES}u) {
#for w in 0..WEIGHTS
    let y${w} = ${WIDE}(weights[first_weight + weight${w} + i]);
#end
#for r in 0..ROWS
    let h${r} = ${WIDE}(source[source${r} + i]);
#for w in 0..WEIGHTS
    sum${w * ROWS + r} = plus_product(h${r}, y${w}, sum${w * ROWS + r});
#end
#end
  }
  // Of two work-items that differ in one bit each keeps half of the sums, and gets the other's.
#let APART = SUMS / 2
#let ROUNDS = 2
#if ROWS == 2
#let ROUNDS = 3
#elif ROWS == 4
#let ROUNDS = 4
#elif ROWS == 8
#let ROUNDS = 5
#end
#for turn in 0..ROUNDS
  {
    let is_upper = (lane & ${APART}u) != 0u;
#for i in 0..APART
    partial[local + ${i * GROUP}u] = select(sum${i + APART}, sum${i}, is_upper);
#end
    workgroupBarrier();
#for i in 0..APART
    sum${i} = select(sum${i}, sum${i + APART}, is_upper) +
              partial[(local ^ ${APART}u) + ${i * GROUP}u];
#end
    workgroupBarrier();
  }
#let APART = APART / 2
#end
  partial[local] = sum0;
  for (var width = ${LANES}u / 2u; width >= ${SUMS}u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) { partial[local] += partial[local + width]; }
  }
  workgroupBarrier();
  if (!is_one) { return; }
  let mine = local - lane + lane % ${UNITS}u * ${ROWS}u + lane / ${UNITS}u;
#for g in 0..GATES
#if KIND == "project"
  let p${g} = partial[mine];
#else
  let p${g} = partial[mine + ${g * UNITS * ROWS}u] + bias${g};
#end
#end

  var hidden = ${SUM}(0);
#if KIND == "project"
  hidden = p0;
#elif KIND == "rnn"
  hidden = rnn(x0 + p0);
#elif KIND == "lstm"
  var cell = ${SUM}(0);
#if SINGLE
  if (is_set(64u)) { cell = ${SUM}(cells_before[at]); }
#else
  cell = cells[at];
#end
  let stepped = lstm(x0 + p0, x1 + p1, x2 + p2, x3 + p3, cell, peephole(0u, unit),
                     peephole(1u, unit), peephole(2u, unit));
  hidden = stepped.hidden;
#elif KIND == "reset_first"
  hidden = sigmoid(x0 + p0) * source_at(at);
#else
  var before = ${SUM}(0);
#if KIND == "reset_second"
  before = behind[at];
  hidden = mixed(cells[at], x0 + p0, before);
#else
#if SINGLE
  if (is_set(32u)) { before = source_at(at); }
#else
  before = source_at(at);
#end
  hidden = mixed(sigmoid(x1 + p1), x2 + sigmoid(x0 + p0) * p2, before);
#end
#end

#if SINGLE
  if (is_set(128u)) { behind[at] = ${T}(hidden); }
#if KIND == "lstm"
  if (is_set(256u)) { cells[at] = ${T}(stepped.cell); }
#end
#else
#if KIND == "lstm"
  if (is_active) { cells[at] = stepped.cell; }
#elif KIND == "reset_first"
  cells[at] = sigmoid(x1 + p1);
#end
#if KIND == "project" || KIND == "reset_second"
  if (is_active) { behind[at] = hidden; }
#elif KIND == "reset_first"
  behind[at] = hidden;
#else
  // Of lstm with a projection this is what goes into that, which has the state before.
  if (is_active) { behind[at] = hidden; } else if (!is_set(512u)) { behind[at] = source_at(at); }
#end
#end
#if GOES_OUT
  if (!is_set(512u)) {
    outputs[params.output_start + place * params.output_step + row * params.output_batch + unit] =
        ${T}(select(${SUM}(0), hidden, is_active));
  }
#end
}
