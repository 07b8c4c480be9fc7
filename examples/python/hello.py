"""Numbers to the device, one op, and back."""

import numpy as np
import tilewright

with tilewright.init_backend() as be:
    print(be.device.id)

    x = be.array(np.array([-2, -1, 0, 1, 2], np.float32))
    be.relu(x, out=x)
    for value in x.numpy():
        print(f"{value:.1f}")
