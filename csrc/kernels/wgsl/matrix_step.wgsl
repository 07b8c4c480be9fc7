// BK of k of a subgroup's sums, of the tiles that matrix_tiles.wgsl lays out.
// Around this file: own_a, own_b (the subgroup's blocks), sums.
#for kk in 0..BK/UK
#let K = kk * UK
    {
#for i in 0..WM/UM
#if TA
      let left${i} = subgroupMatrixLoad<Left, col_major>(&held[own_a], ${K * STEP_A + i * UM / PER_PLACE}u, ${STEP_A}u);
#else
      let left${i} = subgroupMatrixLoad<Left, row_major>(&held[own_a], ${i * UM * STEP_A + K / PER_PLACE}u, ${STEP_A}u);
#end
#end
#for j in 0..WN/UN
#if TB
      let right${j} = subgroupMatrixLoad<Right, col_major>(&held[own_b], ${j * UN * STEP_B + K / PER_PLACE}u, ${STEP_B}u);
#else
      let right${j} = subgroupMatrixLoad<Right, row_major>(&held[own_b], ${K * STEP_B + j * UN / PER_PLACE}u, ${STEP_B}u);
#end
#end
#for i in 0..WM/UM
#for j in 0..WN/UN
      sums${i}_${j} = multiply_add(left${i}, right${j}, sums${i}_${j});
#end
#end
    }
#end
