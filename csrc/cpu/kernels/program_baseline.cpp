#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/program.inc"
