// Which of v has result i of the butterfly u, as fft_radix.wgsl leaves them.
#let FROM = u * Q + (Q == 16) * (i % 4 * 4 + i / 4) + (Q == 9) * (i % 3 * 3 + i / 3) + (Q == 8) * (i % 2 * 4 + i / 2) + (Q != 16 && Q != 9 && Q != 8) * i
