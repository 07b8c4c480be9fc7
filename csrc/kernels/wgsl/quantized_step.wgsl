// What a work-item adds to its sums of TURNS units of k, from unit u of each row on, SIDE apart: all
// words are read before the first is used.
// Variables: TURNS, OWN, SIDE, PARTS, NORM, WEIGHTED.
#for t in 0..TURNS
#for r in 0..OWN
    let at${t}_${r} = row${r} + u + ${t * SIDE}u;
    let low${t}_${r} = low_plane[at${t}_${r}];
#if HIGH > 0
    let high${t}_${r} = high_plane[at${t}_${r}];
#end
    let scale0_${t}_${r} = scale_of(at${t}_${r} / ${PARTS}u, 0u);
#if HALVES
    let scale1_${t}_${r} = scale_of(at${t}_${r} / ${PARTS}u, 1u);
#end
#end
#end
#for t in 0..TURNS
    {
#for r in 0..OWN
      var part0_${r} = 0.0;
      var part1_${r} = 0.0;
#end
#if MINIMA
      var sum0 = 0.0;
      var sum1 = 0.0;
#end
#for j in 0..8/PARTS
#let H = j / 4
      var a${j} = vec4<f32>(x[(u + ${t * SIDE}u) * ${8 / PARTS}u + ${j}u]);
#if NORM
      squares += dot(a${j}, a${j});
#if WEIGHTED
      a${j} *= vec4<f32>(norm[(u + ${t * SIDE}u) * ${8 / PARTS}u + ${j}u]);
#end
#end
      let b${j} = a${j} * unscaled;
#if MINIMA
      sum${H} += (a${j}.x + a${j}.y) + (a${j}.z + a${j}.w);
#end
#for r in 0..OWN
#if LOW == 2
      let l${j}_${r} = low${t}_${r}[${H}];
#else
      let l${j}_${r} = low${t}_${r}[${j % 4}];
#end
#if HIGH == 2
      let h${j}_${r} = high${t}_${r}[${H}];
#elif HIGH == 1
      let h${j}_${r} = high${t}_${r};
#else
      let h${j}_${r} = 0u;
#end
      part${H}_${r} += dot(b${j}, scaled_numbers_of(places_of(l${j}_${r}, h${j}_${r}, ${j}u)));
#end
#end
#for r in 0..OWN
#if HALVES
      total${r} = fma(part0_${r}, scale0_${t}_${r}.x, total${r});
      total${r} = fma(part1_${r}, scale1_${t}_${r}.x, total${r});
#elif FORMAT == "mxfp4"
      total${r} = fma((part0_${r} + part1_${r}) * scale0_${t}_${r}.x, scale0_${t}_${r}.y, total${r});
#else
      total${r} = fma(part0_${r} + part1_${r}, scale0_${t}_${r}.x, total${r});
#end
#if MINIMA && HALVES
      total${r} = fma(sum0, scale0_${t}_${r}.y, total${r});
      total${r} = fma(sum1, scale1_${t}_${r}.y, total${r});
#elif MINIMA
      total${r} = fma(sum0 + sum1, scale0_${t}_${r}.y, total${r});
#end
#end
    }
#end
