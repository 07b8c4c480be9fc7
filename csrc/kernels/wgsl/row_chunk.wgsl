// Reads x0 to x3, the 16 elements of a piece that a work-item has from `at` on, with what is not there
// as OTHERWISE. In front: `end` of the piece, `base` of its row, both
// and `at` in ITEM. Variables: GROUP, VECTOR, INPUT, OTHERWISE.
#for v in 0..4
#if VECTOR
    var x${v} = vec4<f32>(${OTHERWISE});
    if (at + ${v * GROUP}u < end) { x${v} = vec4<f32>(${INPUT}[base + at + ${v * GROUP}u]); }
#else
    var x${v} = vec4<f32>(${OTHERWISE});
#for e in 0..4
    if (at + ${(v * 4 + e) * GROUP}u < end) {
      x${v}[${e}] = f32(${INPUT}[base + at + ${(v * 4 + e) * GROUP}u]);
    }
#end
#end
#end
