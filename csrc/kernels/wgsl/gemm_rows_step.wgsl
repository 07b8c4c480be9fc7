// TURNS items of the walk of gemm_rows.wgsl, from i on.
#for u in 0..TURNS
#for r in 0..ROWS
    let y${u}_${r} = many[row${r} + i + ${u * LANES}u];
#end
#end
#for u in 0..TURNS
#if NORM
#for p in 0..PARTS
    var weight${u}_${p} = vec4<f32>(1.0);
#end
#if WEIGHTED
    let item${u} = norm[i + ${u * LANES}u];
#for p in 0..PARTS
    weight${u}_${p} = part${p}(item${u});
#end
#end
#end
#for f in 0..FEW
    let x${u}_${f} = few[few${f} + i + ${u * LANES}u];
#for p in 0..PARTS
#if NORM
    let own${u}_${f}_${p} = part${p}(x${u}_${f});
    squares${f} = plus(own${u}_${f}_${p}, own${u}_${f}_${p}, squares${f});
    let a${u}_${f}_${p} = own${u}_${f}_${p} * weight${u}_${p};
#else
    let a${u}_${f}_${p} = part${p}(x${u}_${f});
#end
#for r in 0..ROWS
    sum${f}_${r} = plus(a${u}_${f}_${p}, part${p}(y${u}_${r}), sum${f}_${r});
#end
#end
#end
#end
