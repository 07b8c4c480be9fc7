// What conv2d_matrix.wgsl reads: images by group, row and column with their channels side by side in
// vectors of eight, the padding in them, zeros where channels fill no vector. With FOLDS a place has
// the channels of params.folded taps that lie in a row from it on.
// 0 source, 1 packed.
// A workgroup turns a block of WIDE vectors of neighbouring places around in its memory.
// Variables: GROUP, WIDE, FOLDS.
enable f16;
#let PLACES = GROUP / WIDE
struct Params {
  slices: u32, channels: u32, height: u32, width: u32, vectors: u32, places: u32, packed_width: u32,
  step_h: u32, step_w: u32, pad_h: u32, pad_w: u32, dilation_w: u32, folded: u32,
}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source: array<f16>;
@group(0) @binding(1) var<storage, read_write> packed: array<vec4<u32>>;
var<workgroup> block: array<vec4<u32>, ${PLACES * (WIDE + 1)}>;

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let number = workgroup.x + workgroup.y * workgroups.x;
  let across = (params.vectors + ${WIDE - 1}u) / ${WIDE}u;
  let down = (params.places + ${PLACES - 1}u) / ${PLACES}u;
  let vector = number % across * ${WIDE}u;
  let place = number / across % down * ${PLACES}u;
  let slice = number / across / down;
  if (slice >= params.slices) { return; }
  let at = place + t % ${PLACES}u;
  // Left of or above the image is a large number here.
  let y = at / params.packed_width * params.step_h - params.pad_h;
  let x = at % params.packed_width * params.step_w - params.pad_w;
  let channel = (vector + t / ${PLACES}u) * 8u;
  let plane = params.height * params.width;
#for e in 0..8
  var x${e} = 0.0h;
#end
#if FOLDS
  if (at < params.places && y < params.height) {
    let start = slice * params.channels * plane + y * params.width;
#for e in 0..8
    let tap${e} = (channel + ${e}u) / params.channels;
    let x_${e} = x + tap${e} * params.dilation_w;
    if (tap${e} < params.folded && x_${e} < params.width) {
      x${e} = source[start + (channel + ${e}u) % params.channels * plane + x_${e}];
    }
#end
  }
#else
  if (at < params.places && y < params.height && x < params.width) {
    let start = (slice * params.channels + channel) * plane + y * params.width + x;
    if (channel + 8u <= params.channels) {
#for e in 0..8
      x${e} = source[start + ${e}u * plane];
#end
    } else {
#for e in 0..7
      if (channel + ${e}u < params.channels) { x${e} = source[start + ${e}u * plane]; }
#end
    }
  }
#end
  block[t % ${PLACES}u * ${WIDE + 1}u + t / ${PLACES}u] =
      vec4<u32>(bitcast<u32>(vec2<f16>(x0, x1)), bitcast<u32>(vec2<f16>(x2, x3)),
                bitcast<u32>(vec2<f16>(x4, x5)), bitcast<u32>(vec2<f16>(x6, x7)));
  workgroupBarrier();
  let to = place + t / ${WIDE}u;
  let into = vector + t % ${WIDE}u;
  if (to < params.places && into < params.vectors) {
    packed[(slice * params.places + to) * params.vectors + into] =
        block[t / ${WIDE}u * ${WIDE + 1}u + t % ${WIDE}u];
  }
}
