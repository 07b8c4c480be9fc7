#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/isa.inc"
