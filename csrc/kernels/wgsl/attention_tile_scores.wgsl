// A step of a tile's scores: products of the columns that lie in workgroup memory, and the next ones
// there in their place, in the other half.
// Around this file: step, steps, t, tx, ty; next_q and next_k of this step.
      if (step > 0u) {
        let of_q = (step - 1u) % 2u * ${HALF_STAGE}u + ty * ${PITCH}u;
        let of_k = (step - 1u) % 2u * ${HALF_STAGE}u + ${BQ * PITCH}u + tx * ${PITCH}u;
#for d in 0..ROW
        {
#for j in 0..TK
          let y${j} = tile[of_k + ${j * NX * PITCH + d}u];
#end
#for g in 0..FOURS
          {
#for i in 0..4
            let x${i} = tile[of_q + ${(g * 4 + i) * NY * PITCH + d}u];
#end
#for e in 0..4
            let x_${e} = vec4<f32>(x0[${e}], x1[${e}], x2[${e}], x3[${e}]);
#for j in 0..TK
            s${g}_${j} = fma(x_${e}, vec4<f32>(y${j}[${e}]), s${g}_${j});
#end
#end
          }
#end
        }
#end
      }
      if (step < steps) {
        let to = step % 2u * ${HALF_STAGE}u;
#for i in 0..Q_LOADS
        {
          let at = t + ${i * THREADS}u;
#if (i + 1) * THREADS > BQ * ROW
          if (at < ${BQ * ROW}u)
#end
          { tile[to + at / ${ROW}u * ${PITCH}u + at % ${ROW}u] = next_q${i}; }
        }
#end
#for i in 0..K_LOADS
        {
          let at = t + ${i * THREADS}u;
#if (i + 1) * THREADS > BK * ROW
          if (at < ${BK * ROW}u)
#end
          { tile[to + ${BQ * PITCH}u + at / ${ROW}u * ${PITCH}u + at % ${ROW}u] = next_k${i}; }
        }
#end
        workgroupBarrier();
      }
