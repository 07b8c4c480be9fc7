// output[i] = the place in params.n ascending elements that values[i] would be put at, before those
// that are equal or with RIGHT behind them. Elements are compared as keys of one word or two, whose
// order is theirs: bits of unsigned integers. A work-item has ITEMS values, whose searches take the same
// steps, so that their reads are on their way together: first among GROUP - 1 elements params.stride apart,
// which lie in the workgroup's memory, then in the stride that is left.
// 0 sorted, 1 values, 2 output.
// Variables: GROUP, BYTES (of an element), KIND (0 unsigned, 1 signed, 2 float, 3 bool), MANTISSA
// (its bits in the highest word), RIGHT, WIDE (1: places of two words), ITEMS.
//! BYTES: 1 2 4 8
//! KIND: constant
//! MANTISSA: constant
//! RIGHT: constant
//! WIDE: constant
//! ITEMS: 1 2
//! GROUP: 256
#let KEY = "u32"
#if BYTES == 8
#let KEY = "vec2<u32>"
#end

struct Params { n: u32, count: u32, stride: u32, half: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> sorted: array<${KEY}>;
@group(0) @binding(1) var<storage, read> values: array<${KEY}>;
@group(0) @binding(2) var<storage, read_write> output: array<u32>;
var<workgroup> pivots: array<${KEY}, ${GROUP}>;

#if BYTES == 8
fn key_of(bits: vec2<u32>) -> vec2<u32> {
  var key = bits;
#if KIND == 1
  key.y ^= 0x80000000u;
#elif KIND == 2
  let magnitude = key.y & 0x7fffffffu;
  let infinity = (0x7fffffffu >> ${MANTISSA}u) << ${MANTISSA}u;
  if (magnitude > infinity || (magnitude == infinity && key.x != 0u)) {
    key = vec2<u32>(0xffffffffu);
  } else if (magnitude == 0u && key.x == 0u) {
    key = vec2<u32>(0u, 0x80000000u);
  } else if (key.y > 0x7fffffffu) {
    key = ~key;
  } else {
    key.y |= 0x80000000u;
  }
#end
  return key;
}
fn sorted_at(at: u32) -> vec2<u32> { return key_of(sorted[at]); }
fn value_at(at: u32) -> vec2<u32> { return key_of(values[at]); }
fn is_behind(key: vec2<u32>, value: vec2<u32>) -> bool {
#if RIGHT
  return key.y < value.y || (key.y == value.y && key.x <= value.x);
#else
  return key.y < value.y || (key.y == value.y && key.x < value.x);
#end
}
#else
/// The bits of the element in a word, from the highest bit on.
fn key_of(word: u32, at: u32) -> u32 {
  var key = word;
#if BYTES == 1
  key = (word >> (at % 4u * 8u)) << 24u;
#elif BYTES == 2
  key = (word >> (at % 2u * 16u)) << 16u;
#end
#if KIND == 1
  key ^= 0x80000000u;
#elif KIND == 2
  let magnitude = key & 0x7fffffffu;
  let infinity = (0x7fffffffu >> ${MANTISSA}u) << ${MANTISSA}u;
  // Of all bits where it is negative; -0 is 0.
  let negative = key > 0x80000000u;
  key = select(key | 0x80000000u, ~key, negative);
  key = select(key, 0xffffffffu, magnitude > infinity);
#elif KIND == 3
  key = min(key, 1u);
#end
  return key;
}
fn sorted_at(at: u32) -> u32 { return key_of(sorted[at * ${BYTES}u / 4u], at); }
fn value_at(at: u32) -> u32 { return key_of(values[at * ${BYTES}u / 4u], at); }
fn is_behind(key: u32, value: u32) -> bool {
#if RIGHT
  return key <= value;
#else
  return key < value;
#end
}
#end

fn write(i: u32, place: u32) {
#if WIDE
  output[2u * i] = place;
  output[2u * i + 1u] = 0u;
#else
  output[i] = place;
#end
}

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * ${ITEMS * GROUP}u + local;
  let pivot = (local + 1u) * params.stride - 1u;
  if (pivot < params.n) { pivots[local] = sorted_at(pivot); }
#for k in 0..ITEMS
  let value${k} = value_at(min(first + ${k * GROUP}u, params.count - 1u));
  var found${k} = 0u;
#end
  workgroupBarrier();
  let held = params.n / params.stride;
  for (var half = ${GROUP / 2}u; half > 0u; half /= 2u) {
#for k in 0..ITEMS
    {
      let at = found${k} + half - 1u;
      let behind = is_behind(pivots[at], value${k});
      found${k} += select(0u, half, behind && at < held);
    }
#end
  }
  // From here on they are in front of the next pivot, which is not behind them.
#for k in 0..ITEMS
  let end${k} = min(found${k} * params.stride + params.stride - 1u, params.n);
  found${k} *= params.stride;
#end
  for (var half = params.half; half > 0u; half /= 2u) {
#for k in 0..ITEMS
    let at${k} = found${k} + half - 1u;
    let key${k} = sorted_at(min(at${k}, params.n - 1u));
#end
#for k in 0..ITEMS
    found${k} += select(0u, half, at${k} < end${k} && is_behind(key${k}, value${k}));
#end
  }
#for k in 0..ITEMS
  if (first + ${k * GROUP}u < params.count) { write(first + ${k * GROUP}u, found${k}); }
#end
}
