// What a work-item adds to its sums of TURNS groups, from group g of each row on, `step` apart: its
// part of them is one vector of each half. Work-items of every other group begin with the second
// half, so that eight neighbours read eight vectors of x side by side.
// Variables: TURNS, ROWS, VECTORS.
#for t in 0..TURNS
    let at${t} = g + ${t}u * step;
    let half${t} = at${t} % 2u;
    let first${t} = quarter + half${t} * 4u;
    let second${t} = quarter + 4u - half${t} * 4u;
#for r in 0..ROWS
    let low0_${t}_${r} = low_word(row${r} + at${t}, first${t});
    let high0_${t}_${r} = high_word(row${r} + at${t}, first${t});
#if LOW == 4
    let low1_${t}_${r} = low0_${t}_${r};
#else
    let low1_${t}_${r} = low_word(row${r} + at${t}, second${t});
#end
#if HIGH == 2
    let high1_${t}_${r} = high_word(row${r} + at${t}, second${t});
#else
    let high1_${t}_${r} = high0_${t}_${r};
#end
    let scale0_${t}_${r} = scale_of(row${r} + at${t}, half${t});
#if HALVES
    let scale1_${t}_${r} = scale_of(row${r} + at${t}, 1u - half${t});
#end
#end
#end
#for t in 0..TURNS
#for r in 0..ROWS
    let q0_${t}_${r} = scaled_numbers_of(places_of(low0_${t}_${r}, high0_${t}_${r}, first${t}));
    let q1_${t}_${r} = scaled_numbers_of(places_of(low1_${t}_${r}, high1_${t}_${r}, second${t}));
#end
#for v in 0..VECTORS
    let a0_${t}_${v} = vec4<f32>(x[x${v} + at${t} * 8u + first${t}]);
    let a1_${t}_${v} = vec4<f32>(x[x${v} + at${t} * 8u + second${t}]);
    let b0_${t}_${v} = a0_${t}_${v} * unscaled;
    let b1_${t}_${v} = a1_${t}_${v} * unscaled;
#if MINIMA
    let sum0_${t}_${v} = (a0_${t}_${v}.x + a0_${t}_${v}.y) + (a0_${t}_${v}.z + a0_${t}_${v}.w);
    let sum1_${t}_${v} = (a1_${t}_${v}.x + a1_${t}_${v}.y) + (a1_${t}_${v}.z + a1_${t}_${v}.w);
#end
#for r in 0..ROWS
    let part0_${t}_${r}_${v} = dot(b0_${t}_${v}, q0_${t}_${r});
    let part1_${t}_${r}_${v} = dot(b1_${t}_${v}, q1_${t}_${r});
#if HALVES
    total${r}_${v} = fma(part0_${t}_${r}_${v}, scale0_${t}_${r}.x, total${r}_${v});
    total${r}_${v} = fma(part1_${t}_${r}_${v}, scale1_${t}_${r}.x, total${r}_${v});
#elif FORMAT == "mxfp4"
    total${r}_${v} = fma((part0_${t}_${r}_${v} + part1_${t}_${r}_${v}) * scale0_${t}_${r}.x,
                         scale0_${t}_${r}.y, total${r}_${v});
#else
    total${r}_${v} = fma(part0_${t}_${r}_${v} + part1_${t}_${r}_${v}, scale0_${t}_${r}.x,
                         total${r}_${v});
#end
#if MINIMA && HALVES
    total${r}_${v} = fma(sum0_${t}_${v}, scale0_${t}_${r}.y, total${r}_${v});
    total${r}_${v} = fma(sum1_${t}_${v}, scale1_${t}_${r}.y, total${r}_${v});
#elif MINIMA
    total${r}_${v} = fma(sum0_${t}_${v} + sum1_${t}_${v}, scale0_${t}_${r}.y, total${r}_${v});
#end
#end
#end
#end
