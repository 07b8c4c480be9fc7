// Where a work-item's loads go in the blocks of matrix_tiles.wgsl. Lines of fewer than eight places: of
// eight work-items side by side, which store at once, those of the next line are as many lines on as a
// line has places, so that no two of them store to the same banks.
#for i in 0..LOADS_A
#if WIDE_A < 8
  let line_a${i} = (t + ${i * THREADS}u) / ${8 * WIDE_A}u * 8u + t % 8u / ${WIDE_A}u * ${WIDE_A}u + (t + ${i * THREADS}u) / 8u % ${WIDE_A}u;
#else
  let line_a${i} = (t + ${i * THREADS}u) / ${WIDE_A}u;
#end
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
#if WIDE_B < 8
  let line_b${i} = (t + ${i * THREADS}u) / ${8 * WIDE_B}u * 8u + t % 8u / ${WIDE_B}u * ${WIDE_B}u + (t + ${i * THREADS}u) / 8u % ${WIDE_B}u;
#else
  let line_b${i} = (t + ${i * THREADS}u) / ${WIDE_B}u;
#end
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
