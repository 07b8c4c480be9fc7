// BK of k of a subgroup's sums, of the tiles that matrix_tiles.wgsl lays out.
// Around this file: down, over (the subgroup's first row and column in the tile), sums.
#for kk in 0..BK/UK
#let K = kk * UK
    {
#for i in 0..WM/UM
#if TA
      let left${i} = left_columns(${K * STEP_A}u + (down + ${i * UM}u) / 8u, ${STEP_A}u);
#else
      let left${i} = left_rows((down + ${i * UM}u) * ${STEP_A}u + ${K / 8}u, ${STEP_A}u);
#end
#end
#for j in 0..WN/UN
#if TB
      let right${j} = right_columns(${FROM_B}u + (over + ${j * UN}u) * ${STEP_B}u + ${K / 8}u, ${STEP_B}u);
#else
      let right${j} = right_rows(${FROM_B + K * STEP_B}u + (over + ${j * UN}u) / 8u, ${STEP_B}u);
#end
#end
#for i in 0..WM/UM
#for j in 0..WN/UN
      sums${i}_${j} = multiply_add(left${i}, right${j}, sums${i}_${j});
#end
#end
    }
#end
