// What fft.wgsl knows of pass P: its radix R, the product of those BEFORE it, how many butterflies a line
// (PART) and a workgroup (ITEMS) have, and a work-item at most (U).
#let R = (P == 0) * R0 + (P == 1) * R1 + (P == 2) * R2 + (P == 3) * R3 + (P == 4) * R4 + (P == 5) * R5 + (P == 6) * R6 + (P == 7) * R7
#let BEFORE = (1 + (P > 0) * (R0 - 1)) * (1 + (P > 1) * (R1 - 1)) * (1 + (P > 2) * (R2 - 1)) * (1 + (P > 3) * (R3 - 1)) * (1 + (P > 4) * (R4 - 1)) * (1 + (P > 5) * (R5 - 1)) * (1 + (P > 6) * (R6 - 1))
#let FIRST = P == 0
#let PART = N / R
#let ITEMS = LINES * PART
#let BY_LINES = (P == 0 && FROM_LINES) || (P > 0 && P == PASSES - 1 && TO_LINES)
#let LAST = P == PASSES - 1 && KIND != 1
#let U = 1
#if SEVERAL
#let U = (ITEMS + GROUP - 1) / GROUP
#end
