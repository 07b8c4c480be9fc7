#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/recurrent.inc"
