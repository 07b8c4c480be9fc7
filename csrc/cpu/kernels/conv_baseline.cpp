#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/conv.inc"
