// A step of a selection, a row a workgroup: the digit that the last of the selected elements has. A
// row's state is the digits up to this one in two words, and how many elements are still to be
// selected among those whose keys begin so; counts are 0 again for the next step.
// 0 counts, 1 states.
// Variables: GROUP.
//! GROUP: 256

struct Params { first: u32, selected: u32, shift: u32, rows: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> states: array<vec4<u32>>;
var<workgroup> sums: array<u32, 256>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let index = group.x + group.y * groups.x;
  let inside = index < params.rows;
  let row = select(0u, index, inside);
  let own = counts[row * 256u + local];
  var state = vec4<u32>(0u, 0u, params.selected, 0u);
  if (params.first == 0u) { state = states[row]; }
  sums[local] = own;
  workgroupBarrier();
  for (var apart = 1u; apart < 256u; apart *= 2u) {
    let other = sums[select(0u, local - apart, local >= apart)];
    workgroupBarrier();
    if (local >= apart) { sums[local] += other; }
    workgroupBarrier();
  }
  let up_to = sums[local];
  let before = up_to - own;
  if (inside) {
    counts[row * 256u + local] = 0u;
    if (before < state.z && up_to >= state.z) {
      let digit = local << (params.shift & 31u);
      if (params.shift < 32u) { state.x |= digit; } else { state.y |= digit; }
      state.z -= before;
      states[row] = state;
    }
  }
}
