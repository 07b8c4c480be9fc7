#define TILEWRIGHT_ISA avx512
#include "cpu/kernels/winograd.inc"
