// Of a line, what a work-item has of it from item `i` on: reads it to x0 and the next ones, as the
// lowest where nothing is left, and joins it with `top`, the largest so far, and `sum`, that of
// powers; with SMOOTH with `off`, the sum of the weights times what scores are off `centre`, and with
// `mass`, that of the weights. Around this file: `base` and `count` of the line.
// Variables: F, PACK, VECTOR, CHUNK (vectors), WALKERS, SMOOTH.
#for v in 0..CHUNK
    x${v} = vec4<${F}>(lowest());
#if VECTOR
    if (i + ${v * WALKERS}u < count) {
#if PACK == 2
      let words${v} = scores[base / 4u + i + ${v * WALKERS}u];
      x${v} = vec4<f32>(number_of(words${v}.x & 0xffffu), number_of(words${v}.x >> 16u),
                        number_of(words${v}.y & 0xffffu), number_of(words${v}.y >> 16u));
#else
      x${v} = scores[base / 4u + i + ${v * WALKERS}u];
#end
#if SMOOTH
#for e in 0..4
      {
        let weight = weight_of((i + ${v * WALKERS}u) * 4u + ${e}u);
        off += weight * (x${v}[${e}] - centre);
        mass += weight;
      }
#end
#end
    }
#else
#for e in 0..4
    if (i + ${(v * 4 + e) * WALKERS}u < count) {
      x${v}[${e}] = score(base + (i + ${(v * 4 + e) * WALKERS}u) * params.inner);
#if SMOOTH
      let weight = weight_of(i + ${(v * 4 + e) * WALKERS}u);
      off += weight * (x${v}[${e}] - centre);
      mass += weight;
#end
    }
#end
#end
#end
    var tops = x0;
#for v in 1..CHUNK
    tops = max(tops, x${v});
#end
    // A maximum that passes over NaN is as good: the sum does not.
    let higher = max(max(max(tops.x, tops.y), max(tops.z, tops.w)), top);
    let reference = vec4<${F}>(reference_of(higher));
    var powers = power_of(x0 - reference);
#for v in 1..CHUNK
    powers += power_of(x${v} - reference);
#end
    sum = sum * rescale(top, higher) + ((powers.x + powers.y) + (powers.z + powers.w));
    top = higher;
