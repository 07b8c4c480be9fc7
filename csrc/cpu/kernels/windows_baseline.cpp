#define TILEWRIGHT_ISA baseline
#include "cpu/kernels/windows.inc"
