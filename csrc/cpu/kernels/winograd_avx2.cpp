#define TILEWRIGHT_ISA avx2
#include "cpu/kernels/winograd.inc"
