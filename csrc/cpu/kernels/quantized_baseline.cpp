#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/quantized.inc"
