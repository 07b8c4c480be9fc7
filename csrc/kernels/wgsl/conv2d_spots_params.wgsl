// What the kernels over spots share: their parameters, the phases, and numbers of three digits.
// A spot is where a tap of the filter reads, from where its position starts: rows down, columns to
// the right, both together as elements, and the tap. What lies outside on the left or above is a
// large number. Positions that read through the same taps are a phase. Before the spots there are
// three vectors for each phase: first spot, end, rows, columns; the digits of GROUP by these, and
// the depth at which the phase starts; its first row and column in the result, and its depth.
struct Params {
  images: u32, groups: u32, rows: u32, deep: u32, depth: u32, first: u32, tiles_n: u32,
  group_stride: u32, row_stride: u32, deep_stride: u32,  // of the filter
  source_height: u32, source_width: u32, result_height: u32, result_width: u32,
  in_step_h: u32, in_step_w: u32, in_pad_h: u32, in_pad_w: u32, out_step_h: u32, out_step_w: u32,
  slope: f32, zero: u32,  // of activation.wgsl
}
var<immediate> params: Params;

struct Phase {
  first: u32, end: u32, height: u32, width: u32, step: vec3<u32>, start: u32, top: u32, left: u32,
  depth: u32,
}
fn phase_of(i: u32) -> Phase {
  let a = spots[3u * i];
  let b = spots[3u * i + 1u];
  let c = spots[3u * i + 2u];
  return Phase(a.x, a.y, a.z, a.w, b.xyz, b.w, c.x, c.y, c.z);
}
fn digits(i: u32, y: u32, z: u32) -> vec3<u32> { return vec3<u32>(i / (y * z), i / z % y, i % z); }
/// The digits of a sum.
fn advanced(a: vec3<u32>, b: vec3<u32>, y: u32, z: u32) -> vec3<u32> {
  var d = a + b;
  if (d.z >= z) { d = vec3<u32>(d.x, d.y + 1u, d.z - z); }
  if (d.y >= y) { d = vec3<u32>(d.x + 1u, d.y - y, d.z); }
  return d;
}
