#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/sparse.inc"
