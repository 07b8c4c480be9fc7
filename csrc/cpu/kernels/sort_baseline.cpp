#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/sort.inc"
