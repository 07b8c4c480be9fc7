// How tiles of A and B lie in workgroup memory: as they are stored, eight elements a vec4, their lines
// a vec4 apart from whole ones so that the units read them without bank conflicts. What a subgroup
// multiplies, WM rows of A and WN columns of B, is a block, and so is the strip through which its
// sums leave: a place in a block is a constant, so that nothing has to be checked where units read.
// Variables: BM BN BK WM WN; UM UN UK; LANES (of a subgroup); TA TB (1: stored transposed).
#let ACROSS = BN / WN
#let SUBGROUPS = BM / WM * ACROSS
#let THREADS = SUBGROUPS * LANES
// Lines of a tile, and the vec4 in one, of all blocks and of one with what is between lines.
#let LINES_A = BM + TA * (BK - BM)
#let LINES_B = BK + TB * (BN - BK)
#let WIDE_A = (BK + TA * (BM - BK)) / 8
#let WIDE_B = (BN + TB * (BK - BN)) / 8
#let STEP_A = (BK + TA * (WM - BK)) / 8 + 1
#let STEP_B = (WN + TB * (BK - WN)) / 8 + 1
#let LOADS_A = LINES_A * WIDE_A / THREADS
#let LOADS_B = LINES_B * WIDE_B / THREADS
// A strip of UM rows of a subgroup's sums, and vec4 between its rows.
#let STEP_C = WN / 4 + 1
// Vec4 of a block, and blocks: those of A first, then those of B; of sums one for each subgroup.
#let BLOCK = (WM + TA * (BK - WM)) * STEP_A
#if BLOCK < (BK + TB * (WN - BK)) * STEP_B
#let BLOCK = (BK + TB * (WN - BK)) * STEP_B
#end
#if BLOCK < UM * STEP_C
#let BLOCK = UM * STEP_C
#end
#let FIRST_B = BM / WM
#let BLOCKS = FIRST_B + ACROSS
#if BLOCKS < SUBGROUPS
#let BLOCKS = SUBGROUPS
#end
var<workgroup> held: array<array<vec4<u32>, ${BLOCK}>, ${BLOCKS}>;
#include "matrix_types.wgsl"
