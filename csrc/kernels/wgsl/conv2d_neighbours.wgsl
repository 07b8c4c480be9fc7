// Leaves a tile of sums: neighbours store what lies side by side, which they find in workgroup memory, every
// fourth row at a time.
// Around this file: c of this work-item, tx, ty, t, group, row0; where the column that it stores begins in
// the result, to, and result_plane from one row to the next; tile_b.
// Variables: names of how many ROWS and COLUMNS there are, and of that COLUMN.
#for i in 0..TM
  workgroupBarrier();
#for j in 0..TN/4
  tile_b[ty * ${BN / 4}u + tx + ${j * NX}u] =
      vec4<f32>(c${i}_${4 * j}, c${i}_${4 * j + 1}, c${i}_${4 * j + 2}, c${i}_${4 * j + 3});
#end
  workgroupBarrier();
#for n in 0..TN
  {
    let line = t / ${BN}u + ${n * LINES}u;
    let row = row0 + ${(i / 4) * NY * 4 + i % 4}u + line * 4u;
    if (${COLUMN} < ${COLUMNS} && row < ${ROWS}) {
      var sum = tile_b[line * ${BN / 4}u + t % ${BN}u / 4u][t % 4u];
#if BIAS
      sum += f32(bias[group * ${ROWS} + row]);
#end
#if ACTIVATION != "none"
      sum = activated_one(sum);
#end
      result[to + row * result_plane] = ${T}(sum);
    }
  }
#end
#end
