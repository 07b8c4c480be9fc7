// Rotates the pairs (i, i + half) of rows of head_dim = 2 half elements by the angles of a table
// row, one pair a work-item. With GENERAL pairs lie as `step` and `apart` say, rows by strides, and
// what lies behind the pairs is copied, two elements a work-item.
// Bindings in this order: x (left out where it is the output's buffer), cos, sin, output, with
// POSITIONS the table rows of sequences or of places.
// Variables: GROUP, T, IN_PLACE, GENERAL, POSITIONS.
//! T: f32 f16
//! IN_PLACE: 0 1
//! GENERAL: 0 1
//! POSITIONS: 0 1
//! GROUP: 256
//! only: GENERAL == 1 or POSITIONS == 0
#include "floats.wgsl"
#include "range.wgsl"

#if GENERAL
struct Params {
  n: u32, items: u32, half_dim: u32, head_dim: u32, heads: u32, seq: u32, position: u32,
  table_rows: u32, step: u32, apart: u32, of_sequence: u32, of_place: u32, place_step: u32,
  direction: f32, not_a_number: u32,
  x_start: u32, x_batch: u32, x_head: u32, x_seq: u32,
  o_start: u32, o_batch: u32, o_head: u32, o_seq: u32,
}
#else
struct Params { pairs: u32, half_dim: u32, seq: u32, position: u32 }
#end
var<immediate> params: Params;
#if IN_PLACE
#let X = "output"
#let NEXT = 0
#else
@group(0) @binding(0) var<storage, read> x: array<${T}>;
#let X = "x"
#let NEXT = 1
#end
@group(0) @binding(${NEXT}) var<storage, read> cosines: array<${T}>;
@group(0) @binding(${NEXT + 1}) var<storage, read> sines: array<${T}>;
@group(0) @binding(${NEXT + 2}) var<storage, read_write> output: array<${T}>;
#if POSITIONS
@group(0) @binding(${NEXT + 3}) var<storage, read> positions: array<u32>;
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let item = item_index(group, groups, local);
#if GENERAL
  if (item >= params.n) { return; }
  let i = item % params.items;
  let row = item / params.items;
  let place = row % params.seq;
  let head = row / params.seq % params.heads;
  let sequence = row / params.seq / params.heads;
  let from_x = params.x_start + sequence * params.x_batch + head * params.x_head +
               place * params.x_seq;
  let to_o = params.o_start + sequence * params.o_batch + head * params.o_head +
             place * params.o_seq;
  if (i >= params.half_dim) {
    let at = i * 2u;
    output[to_o + at] = ${X}[from_x + at];
    if (at + 1u < params.head_dim) { output[to_o + at + 1u] = ${X}[from_x + at + 1u]; }
    return;
  }
#if POSITIONS
  // A negative row is a large one here.
  let table_row = positions[sequence * params.of_sequence + place * params.of_place] +
                  place * params.place_step;
#else
  let table_row = params.position + place;
#end
  let offset = i * params.step;
  if (table_row >= params.table_rows) {
    let other = ${T}(bitcast<f32>(params.not_a_number));
    output[to_o + offset] = other;
    output[to_o + offset + params.apart] = other;
    return;
  }
  let angle = table_row * params.half_dim + i;
  let first = from_x + offset;
  let second = first + params.apart;
  let first_o = to_o + offset;
  let second_o = first_o + params.apart;
  let s = f32(sines[angle]) * params.direction;
#else
  if (item >= params.pairs) { return; }
  let i = item % params.half_dim;
  let row = item / params.half_dim;
  let angle = (params.position + row % params.seq) * params.half_dim + i;
  let first = row * params.half_dim * 2u + i;
  let second = first + params.half_dim;
  let first_o = first;
  let second_o = second;
  let s = f32(sines[angle]);
#end
  let a = f32(${X}[first]);
  let b = f32(${X}[second]);
  let c = f32(cosines[angle]);
  output[first_o] = ${T}(a * c - b * s);
  output[second_o] = ${T}(b * c + a * s);
}
