#define TILEWRIGHT_ISA avx512
#include "cpu/kernels/sort.inc"
