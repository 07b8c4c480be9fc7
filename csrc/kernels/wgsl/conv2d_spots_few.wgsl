// conv2d or the gradient of its input where few channels of a group are written, as in depthwise
// convolutions and in the gradient of an image: ROWS of them, at PLACES positions a work-item.
// 0 source, 1 filter, 2 the spots of conv2d_spots.cpp, 3 result, 4 bias where BIAS.
// Variables: GROUP, ROWS, PLACES, DEEP (1: taps go one by one, each through all channels that are
// read, STEP of them at a time; 0: the other way round, taps of a phase are a multiple of STEP),
// BIAS, T, ACTIVATION.
#include "floats.wgsl"
#if ACTIVATION != "none"
#include "activation.wgsl"
#end
#include "conv2d_spots_params.wgsl"
@group(0) @binding(0) var<storage, read> source: array<${T}>;
@group(0) @binding(1) var<storage, read> filter_taps: array<${T}>;
@group(0) @binding(2) var<storage, read> spots: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> result: array<${T}>;
#if BIAS
@group(0) @binding(4) var<storage, read> bias: array<${T}>;
#end

@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let phase = phase_of((params.first + workgroup.z) / params.groups);
  let group = (params.first + workgroup.z) % params.groups;
  let source_plane = params.source_height * params.source_width;
  let index = (workgroup.x + workgroup.y * workgroups.x) * ${GROUP * PLACES}u + local;
  var at = digits(index, phase.height, phase.width);
#for p in 0..PLACES
  let at${p} = at;
  let y${p} = at${p}.y * params.in_step_h - params.in_pad_h;
  let x${p} = at${p}.z * params.in_step_w - params.in_pad_w;
  let is_inside${p} = at${p}.x < params.images;
  let start${p} = (at${p}.x * params.groups + group) * params.deep * source_plane +
                  y${p} * params.source_width + x${p};
#for r in 0..ROWS
  var c${p}_${r} = 0.0;
#end
  at = advanced(at, phase.step, phase.height, phase.width);
#end
#if DEEP
  // Where a tap reads is found once for all channels that are read.
  let all = params.deep / ${STEP}u * ${STEP}u;
  for (var tap = phase.first; tap < phase.end; tap++) {
    let spot = spots[tap];
    var of_filter = group * params.group_stride + spot.w;
#for p in 0..PLACES
    let reads${p} = is_inside${p} && y${p} + spot.x < params.source_height &&
                    x${p} + spot.y < params.source_width;
    var from${p} = start${p} + spot.z;
#end
    var deep = 0u;
    for (; deep < all; deep += ${STEP}u) {
#for s in 0..STEP
#for p in 0..PLACES
      var b${s}_${p} = ${T}();
      if (reads${p}) { b${s}_${p} = source[from${p} + ${s}u * source_plane]; }
#end
#end
#for s in 0..STEP
#for r in 0..ROWS
      {
        let at_a = of_filter + ${s}u * params.deep_stride + ${r}u * params.row_stride;
        let a = f32(filter_taps[at_a]);
#for p in 0..PLACES
        c${p}_${r} = fma(a, f32(b${s}_${p}), c${p}_${r});
#end
      }
#end
#end
      of_filter += ${STEP}u * params.deep_stride;
#for p in 0..PLACES
      from${p} += ${STEP}u * source_plane;
#end
    }
    for (; deep < params.deep; deep++) {
#for r in 0..ROWS
      {
        let a = f32(filter_taps[of_filter + ${r}u * params.row_stride]);
#for p in 0..PLACES
        if (reads${p}) { c${p}_${r} = fma(a, f32(source[from${p}]), c${p}_${r}); }
#end
      }
#end
      of_filter += params.deep_stride;
#for p in 0..PLACES
      from${p} += source_plane;
#end
    }
  }
#else
  var of_filter = group * params.group_stride;
#for p in 0..PLACES
  var from${p} = start${p};
#end
  for (var deep = 0u; deep < params.deep; deep++) {
    for (var tap = phase.first; tap < phase.end; tap += ${STEP}u) {
#for s in 0..STEP
      let spot${s} = spots[tap + ${s}u];
#for p in 0..PLACES
      var b${s}_${p} = ${T}();
      if (is_inside${p} && y${p} + spot${s}.x < params.source_height &&
          x${p} + spot${s}.y < params.source_width) {
        b${s}_${p} = source[from${p} + spot${s}.z];
      }
#end
#end
#for s in 0..STEP
#for r in 0..ROWS
      {
        let a = f32(filter_taps[of_filter + ${r}u * params.row_stride + spot${s}.w]);
#for p in 0..PLACES
        c${p}_${r} = fma(a, f32(b${s}_${p}), c${p}_${r});
#end
      }
#end
#end
    }
#for p in 0..PLACES
    from${p} += source_plane;
#end
    of_filter += params.deep_stride;
  }
#end
  let result_plane = params.result_height * params.result_width;
#for p in 0..PLACES
  if (is_inside${p}) {
    let to = (at${p}.x * params.groups + group) * ${ROWS}u * result_plane +
             (at${p}.y * params.out_step_h + phase.top) * params.result_width +
             at${p}.z * params.out_step_w + phase.left;
#for r in 0..ROWS
#if BIAS
    c${p}_${r} += f32(bias[group * ${ROWS}u + ${r}u]);
#end
#if ACTIVATION != "none"
    c${p}_${r} = activated_one(c${p}_${r});
#end
    result[to + ${r}u * result_plane] = ${T}(c${p}_${r});
#end
  }
#end
}
