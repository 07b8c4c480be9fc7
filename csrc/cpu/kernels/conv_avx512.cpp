#define TILEWRIGHT_ISA avx512
#include "cpu/kernels/conv.inc"
