// output[i] = the place in params.n ascending elements that values[i] would be put at, before those
// that are equal or with RIGHT behind them. One value a work-item. Elements are compared as keys of
// one word or two, whose order is theirs: bits of unsigned integers.
// 0 sorted, 1 values, 2 output.
// Variables: GROUP, BYTES (of an element), KIND (0 unsigned, 1 signed, 2 float, 3 bool), MANTISSA
// (its bits in the highest word), RIGHT, WIDE (1: places of two words).
//! BYTES: constant
//! KIND: constant
//! MANTISSA: constant
//! RIGHT: constant
//! WIDE: constant
//! GROUP: 256
#include "range.wgsl"

struct Params { n: u32, count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> sorted: array<u32>;
@group(0) @binding(1) var<storage, read> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;

/// The highest bits first, from the highest bit on; of elements with fewer bits zeros behind them.
fn key_of(low: u32, high: u32) -> vec2<u32> {
  var key = vec2<u32>(high, low);
#if KIND == 1
  key.x ^= 0x80000000u;
#elif KIND == 2
  let magnitude = key.x & 0x7fffffffu;
  let infinity = 0x7fffffffu >> ${MANTISSA}u << ${MANTISSA}u;
  if (magnitude > infinity || (magnitude == infinity && key.y != 0u)) {
    return vec2<u32>(0xffffffffu);
  }
  if (magnitude == 0u && key.y == 0u) { return vec2<u32>(0x80000000u, 0u); }
  if (key.x > 0x7fffffffu) { return ~key; }
  key.x |= 0x80000000u;
#elif KIND == 3
  key.x = min(key.x, 1u);
#end
  return key;
}

fn of_word(word: u32, at: u32) -> u32 {
  var bits = word;
#if BYTES == 1
  bits = (word >> (at % 4u * 8u)) << 24u;
#elif BYTES == 2
  bits = (word >> (at % 2u * 16u)) << 16u;
#end
  return bits;
}

fn sorted_at(at: u32) -> vec2<u32> {
  var key = vec2<u32>(0u);
#if BYTES == 8
  key = key_of(sorted[2u * at], sorted[2u * at + 1u]);
#else
  key = key_of(0u, of_word(sorted[at * ${BYTES}u / 4u], at));
#end
  return key;
}

fn value_at(at: u32) -> vec2<u32> {
  var key = vec2<u32>(0u);
#if BYTES == 8
  key = key_of(values[2u * at], values[2u * at + 1u]);
#else
  key = key_of(0u, of_word(values[at * ${BYTES}u / 4u], at));
#end
  return key;
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let i = item_index(group, groups, local);
  if (i >= params.count) { return; }
  let value = value_at(i);
  var first = 0u;
  var left = params.n;
  while (left > 0u) {
    let middle = first + left / 2u;
    let key = sorted_at(middle);
    var behind = key.x < value.x || (key.x == value.x && key.y < value.y);
#if RIGHT
    behind = behind || (key.x == value.x && key.y == value.y);
#end
    if (behind) {
      first = middle + 1u;
      left = left - left / 2u - 1u;
    } else {
      left = left / 2u;
    }
  }
#if WIDE
  output[2u * i] = first;
  output[2u * i + 1u] = 0u;
#else
  output[i] = first;
#end
}
