"""An image filtered by two 3x3 filters, with padding, bias and stride."""

import numpy as np
import tilewright

with tilewright.init_backend() as be:
    index = np.arange(36)
    pixels = (index % 6 * index).astype(np.float32).reshape(1, 1, 6, 6)

    # One image of one channel, 6 x 6; two filters: a neighbourhood's mean, the horizontal edge.
    weights = np.empty((2, 1, 3, 3), np.float32)
    weights[0] = 1 / 9
    weights[1] = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
    bias = np.array([0, 100], np.float32)

    output = be.conv2d(pixels, weights, bias, stride=2, padding=1)
    for channel, plane in enumerate(output.numpy()[0]):
        print(f"channel {channel}")
        for row in plane:
            print("".join(f"{value:8.2f}" for value in row))
