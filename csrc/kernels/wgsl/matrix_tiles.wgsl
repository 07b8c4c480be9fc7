// How tiles of A and B lie in workgroup memory: as they are stored, eight elements a vec4, their lines
// a vec4 apart from whole ones so that the units read them without bank conflicts. Subgroups have
// WM x WN of the BM x BN sums.
// Variables: BM BN BK WM WN; UM UN UK; LANES (of a subgroup); TA TB (1: stored transposed).
#let ACROSS = BN / WN
#let THREADS = BM / WM * ACROSS * LANES
// Lines of a tile, and vec4 from one to the next.
#let LINES_A = BM + TA * (BK - BM)
#let LINES_B = BK + TB * (BN - BK)
#let WIDE_A = (BK + TA * (BM - BK)) / 8
#let WIDE_B = (BN + TB * (BK - BN)) / 8
#let STEP_A = WIDE_A + 1
#let STEP_B = WIDE_B + 1
#let FROM_B = LINES_A * STEP_A
#let LOADS_A = LINES_A * WIDE_A / THREADS
#let LOADS_B = LINES_B * WIDE_B / THREADS
// A strip of UM rows of a subgroup's sums, and vec4 between its rows.
#let STEP_C = WN / 4 + 1
var<workgroup> held: array<vec4<u32>, ${FROM_B + LINES_B * STEP_B}>;
#include "matrix_units.wgsl"
