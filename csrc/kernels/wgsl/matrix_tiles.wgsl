// How tiles of A and B lie in workgroup memory: as they are stored, PER_PLACE elements a place, their lines
// a place apart from whole ones so that the units read them without bank conflicts. What a subgroup
// multiplies, WM rows of A and WN columns of B, is a block, and so is the strip through which its
// sums leave: a place in a block is a constant, so that nothing has to be checked where units read.
// Variables: BM BN BK WM WN; UM UN UK; LANES (of a subgroup); TA TB (1: stored transposed); HELD
// (vec4<u32> or vec2<u32>), SUMS_PER_PLACE (sums of 32 bits in one); FACTOR, SUM (of matrix_types.wgsl).
#let ACROSS = BN / WN
#let SUBGROUPS = BM / WM * ACROSS
#let THREADS = SUBGROUPS * LANES
// Lines of a tile, and the places in one, of all blocks and of one with what is between lines.
#let LINES_A = BM + TA * (BK - BM)
#let LINES_B = BK + TB * (BN - BK)
#let WIDE_A = (BK + TA * (BM - BK)) / PER_PLACE
#let WIDE_B = (BN + TB * (BK - BN)) / PER_PLACE
#let STEP_A = (BK + TA * (WM - BK)) / PER_PLACE + 1
#let STEP_B = (WN + TB * (BK - WN)) / PER_PLACE + 1
#let LOADS_A = LINES_A * WIDE_A / THREADS
#let LOADS_B = LINES_B * WIDE_B / THREADS
// A strip of UM rows of a subgroup's sums, and places between its rows.
#let STEP_C = WN / SUMS_PER_PLACE + 1
// Places of a block, and blocks: those of A first, then those of B; of sums one for each subgroup.
#let BLOCK = (WM + TA * (BK - WM)) * STEP_A
#if BLOCK < (BK + TB * (WN - BK)) * STEP_B
#let BLOCK = (BK + TB * (WN - BK)) * STEP_B
#end
#if BLOCK < UM * STEP_C
#let BLOCK = UM * STEP_C
#end
// Neighbouring blocks of four places a line, to which neighbours store, begin in other banks.
#if BLOCK % 8 == 0
#let BLOCK = BLOCK + 4
#end
#let FIRST_B = BM / WM
#let BLOCKS = FIRST_B + ACROSS
#if BLOCKS < SUBGROUPS
#let BLOCKS = SUBGROUPS
#end
var<workgroup> held: array<array<${HELD}, ${BLOCK}>, ${BLOCKS}>;
#include "matrix_types.wgsl"
