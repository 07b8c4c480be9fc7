// w0 to w7, the 32 values of a group of row r of weights, of its words and scales in variables.
// Around this file: low0_r (low1_r), high_r, scale0_r (scale1_r) of quantized_planes.wgsl, whole.
// Variables: those of quantized_planes.wgsl; r.
#for j in 0..8
#let H = j / 4
#if LOW == 8
      let l${j} = low${H}_${r}[${j % 4}];
#elif LOW == 4
      let l${j} = low0_${r}[${j % 4}];
#else
      let l${j} = low0_${r}[${H}];
#end
#if HIGH == 2
      let h${j} = high_${r}[${H}];
#elif HIGH == 1
      let h${j} = high_${r};
#else
      let h${j} = 0u;
#end
#let S = 0
#if HALVES
#let S = H
#end
      let q${j} = scaled_numbers_of(places_of(l${j}, h${j}, ${j}u)) * unscaled;
#if FORMAT == "mxfp4"
      let w${j} = (q${j} * scale${S}_${r}.x) * scale${S}_${r}.y;
#elif MINIMA
      let w${j} = fma(q${j}, vec4<f32>(scale${S}_${r}.x), vec4<f32>(scale${S}_${r}.y));
#else
      let w${j} = q${j} * scale${S}_${r}.x;
#end
#end
