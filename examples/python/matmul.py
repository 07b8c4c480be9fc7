"""Matrix products: transposes, scales and leading dimensions of gemm."""

import numpy as np
import tilewright


def show(array: tilewright.Array) -> None:
    for row in array.numpy():
        print("".join(f"{value:7.1f}" for value in row))


with tilewright.init_backend() as be:
    a = be.array(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    b = be.array(np.array([[7, 8], [9, 10], [11, 12]], np.float32))

    print("A B")
    c = be.matmul(a, b)
    show(c)

    # A transposed is 3 x 2, so its product with A is 3 x 3.
    print("2 A^T A + 3")
    d = be.array(np.ones((3, 3), np.float32))
    be.gemm("transpose", "none", 3, 3, 2, 2, a, 3, a, 3, 3, d, 3)
    show(d)

    # The first two columns of A alone: the leading dimension stays 3.
    print("A[:, :2] B[:2]")
    be.gemm("none", "none", 2, 2, 2, 1, a, 3, b, 2, 0, c, 2)
    show(c)
