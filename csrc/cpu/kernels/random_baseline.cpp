#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/random.inc"
