#define TILEWRIGHT_ISA avx2
#include "cpu/kernels/conv.inc"
