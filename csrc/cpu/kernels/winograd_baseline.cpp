#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/winograd.inc"
