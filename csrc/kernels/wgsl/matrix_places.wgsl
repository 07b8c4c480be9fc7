// Where a work-item's loads go in the blocks of matrix_tiles.wgsl.
#for i in 0..LOADS_A
  let line_a${i} = (t + ${i * THREADS}u) / ${WIDE_A}u;
  let place_a${i} = (t + ${i * THREADS}u) % ${WIDE_A}u;
#if TA
  let block_a${i} = place_a${i} / ${WM / PER_PLACE}u;
  let into_a${i} = line_a${i} * ${STEP_A}u + place_a${i} % ${WM / PER_PLACE}u;
#else
  let block_a${i} = line_a${i} / ${WM}u;
  let into_a${i} = line_a${i} % ${WM}u * ${STEP_A}u + place_a${i};
#end
#end
#for i in 0..LOADS_B
  let line_b${i} = (t + ${i * THREADS}u) / ${WIDE_B}u;
  let place_b${i} = (t + ${i * THREADS}u) % ${WIDE_B}u;
#if TB
  let block_b${i} = ${FIRST_B}u + line_b${i} / ${WN}u;
  let into_b${i} = line_b${i} % ${WN}u * ${STEP_B}u + place_b${i};
#else
  let block_b${i} = ${FIRST_B}u + place_b${i} / ${WN / PER_PLACE}u;
  let into_b${i} = line_b${i} * ${STEP_B}u + place_b${i} % ${WN / PER_PLACE}u;
#end
#end
  // The subgroup's blocks.
  let own_a = subgroup / ${ACROSS}u;
  let own_b = ${FIRST_B}u + subgroup % ${ACROSS}u;
