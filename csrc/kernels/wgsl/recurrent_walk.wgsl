// All steps of a small recurrent layer: a workgroup walks ROWS sequences. Each work-item holds the
// weights of one gate of one unit in its registers; the hidden states are in workgroup memory, and
// each state of one unit and sequence in the registers of one work-item.
// 0 inputs, 1 weights, 2 biases, those of the inputs first, or peepholes, 3 lengths, 4 hidden states, 5 cell states, both before
// and behind, 6 outputs.
// Variables: GROUP (at least the gates of all units, and their states), ROWS, KEPT (at least the
// units), KIND (rnn, lstm, gru or reset, which is gru_reset_before), T.
//! T: f32 f16 f64
//! KIND: rnn lstm gru reset
//! KEPT: 32 64
//! ROWS: 1 4
//! GROUP: 256
//! only: T != "f64" or KEPT == 32
#if T == "f16"
enable f16;
#end
struct Params {
  units: u32, rows: u32, first: u32, end: u32, steps: u32,
  input_start: u32, input_batch: u32, input_step: u32,
  output_start: u32, output_batch: u32, output_step: u32,
  flags: u32, clip: f32, zero: u32,
}
var<immediate> params: Params;
#include "recurrent_gates.wgsl"
#let GATES = 1
#let PRODUCTS = 1
#if KIND == "lstm"
#let GATES = 4
#elif KIND == "gru"
#let GATES = 3
#elif KIND == "reset"
#let GATES = 3
#let PRODUCTS = 2
#end
@group(0) @binding(0) var<storage, read> inputs: array<${T}>;
@group(0) @binding(1) var<storage, read> weights: array<${T}>;
@group(0) @binding(2) var<storage, read> extra: array<${T}>;
@group(0) @binding(3) var<storage, read> lengths: array<i32>;
@group(0) @binding(4) var<storage, read_write> hidden_states: array<${SUM}>;
@group(0) @binding(5) var<storage, read_write> cell_states: array<${SUM}>;
@group(0) @binding(6) var<storage, read_write> outputs: array<${T}>;
var<workgroup> states: array<${SUM}, ${ROWS * KEPT}>;
var<workgroup> products: array<${SUM}, ${ROWS * GROUP}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let units = params.units;
  let first_row = (group.x + group.y * groups.x) * ${ROWS}u;
  if (first_row >= params.rows) { return; }
  // Past its own gate's weights, and those of work-items without a gate, are zeros.
  let weight = local * units;
  let kept = select(0u, units, local < ${GATES}u * units);
#for i in 0..KEPT
  var w${i} = ${SUM}(0);
  if (${i}u < kept) { w${i} = ${SUM}(weights[weight + ${i}u]); }
#end
  for (var i = local; i < ${ROWS * KEPT}u; i += ${GROUP}u) {
    let other = first_row + i / ${KEPT}u;
    let u = i % ${KEPT}u;
    var state = ${SUM}(0);
    if (u < units && other < params.rows) { state = hidden_states[other * units + u]; }
    states[i] = state;
  }
  let unit = local % units;
  let beside = local / units;
  let row = first_row + beside;
  let is_one = beside < ${ROWS}u && row < params.rows;
  let at = row * units + unit;
  let mine = beside * ${KEPT}u + unit;
  let product = beside * ${GROUP}u + unit;
  var length = params.steps;
  var hidden = ${SUM}(0);
  var cell = ${SUM}(0);
#for g in 0..GATES
  var in_bias${g} = ${SUM}(0);
  var bias${g} = ${SUM}(0);
#end
#for g in 0..3
  var peephole${g} = ${SUM}(0);
#end
  if (is_one) {
    if (is_set(2u)) { length = min(u32(max(lengths[row], 0)), params.steps); }
    hidden = hidden_states[at];
#if KIND == "lstm"
    cell = cell_states[at];
#end
    if (is_set(4u)) {
#for g in 0..GATES
      in_bias${g} = ${SUM}(extra[${g}u * units + unit]);
      bias${g} = ${SUM}(extra[${g + GATES}u * units + unit]);
#end
    }
#if KIND == "lstm"
    if (is_set(1024u)) {
#for g in 0..3
      peephole${g} = ${SUM}(extra[${g}u * units + unit]);
#end
    }
#end
  }
  workgroupBarrier();
  for (var t = params.first; t < params.end; t++) {
    let is_active = is_one && t < length;
    let place = place_of(t, length);
#for g in 0..GATES
    var x${g} = ${SUM}(0);
#end
    if (is_active) {
      let input = params.input_start + place * params.input_step + row * params.input_batch + unit;
#for g in 0..GATES
      x${g} = ${SUM}(inputs[input + ${g}u * units]) + in_bias${g};
#end
    }
#if KIND == "reset"
    var z = ${SUM}(0);
#end
#for part in 0..PRODUCTS
#for r in 0..ROWS
    {
#for s in 0..4
      var sum${s} = ${SUM}(0);
#end
#for i in 0..KEPT
      sum${i % 4} = fma(w${i}, states[${r * KEPT + i}u], sum${i % 4});
#end
      products[local + ${r * GROUP}u] = (sum0 + sum1) + (sum2 + sum3);
    }
#end
    workgroupBarrier();
#if KIND == "reset" && part == 0
    if (is_active) {
      z = sigmoid(x1 + (products[product + units] + bias1));
      states[mine] = sigmoid(x0 + (products[product] + bias0)) * hidden;
    }
    workgroupBarrier();
#end
#end
    if (is_active) {
#for g in 0..GATES
      let p${g} = products[product + ${g}u * units] + bias${g};
#end
#if KIND == "rnn"
      hidden = rnn(x0 + p0);
#elif KIND == "lstm"
      let stepped = lstm(x0 + p0, x1 + p1, x2 + p2, x3 + p3, cell, peephole0, peephole1, peephole2);
      cell = stepped.cell;
      hidden = stepped.hidden;
#elif KIND == "gru"
      hidden = mixed(sigmoid(x1 + p1), x2 + sigmoid(x0 + p0) * p2, hidden);
#else
      hidden = mixed(z, x2 + p2, hidden);
#end
      states[mine] = hidden;
    }
    if (is_one) {
      outputs[params.output_start + place * params.output_step + row * params.output_batch + unit] =
          ${T}(select(${SUM}(0), hidden, is_active));
    }
    workgroupBarrier();
  }
  if (is_one) {
    hidden_states[at] = hidden;
#if KIND == "lstm"
    cell_states[at] = cell;
#end
  }
}
