"""Recurrent layers beside torch: on CUDA cuDNN's, on the processor oneDNN's or its own.

    python benchmarks/python/recurrent.py [--device webgpu:0] [--threads N] [--dtype NAME]

LSTM, GRU and tanh layers, two of them, by batch x steps x hidden, with as many features as units,
and single cells beside the two products that they have. The sides take turns; shown are medians of
the times, and medians of the ratios turn by turn. Above 1 we are the faster ones. The results are
compared before.
"""

from __future__ import annotations

from typing import Any

import harness
from turns import Call, in_turns, options, torch_beside

SIZES = [(32, 128, 512), (32, 128, 64), (1, 128, 512), (1, 128, 64), (256, 32, 128)]
CELLS = ["lstm", "gru", "rnn"]


def layer_sides(
    be: Any, torch: Any, name: str, batch: int, steps: int, hidden: int, dtype: str
) -> dict[str, tuple[Call, Call]]:
    import numpy as np
    import tilewright as tw

    t = torch.module
    module = {"lstm": t.nn.LSTM, "gru": t.nn.GRU, "rnn": t.nn.RNN}[name](hidden, hidden, 2)
    module = module.to(torch.where).to(getattr(t, dtype)).eval()
    x = np.random.default_rng(1).standard_normal((steps, batch, hidden), np.float32).astype(dtype)
    by = t.from_numpy(x).to(torch.where)
    weights = {
        key: be.array(value.detach().cpu().numpy()) for key, value in module.state_dict().items()
    }
    on_device = be.array(x)
    function = getattr(tw.nn, name)

    def theirs() -> Any:
        with t.no_grad():
            return module(by)[0]

    ours = function(on_device, weights)[0].numpy()
    np.testing.assert_allclose(
        ours, theirs().cpu().numpy(), atol=2e-3 if dtype == "float16" else 1e-4
    )
    return {
        "tilewright": (lambda: function(on_device, weights), be.synchronize),
        "torch": (theirs, torch.wait),
    }


def cell_sides(
    be: Any, torch: Any, name: str, batch: int, hidden: int, dtype: str
) -> dict[str, tuple[Call, Call]]:
    import numpy as np
    import tilewright as tw

    t = torch.module
    module = {"lstm": t.nn.LSTMCell, "gru": t.nn.GRUCell, "rnn": t.nn.RNNCell}[name]
    cell = module(hidden, hidden).to(torch.where).to(getattr(t, dtype)).eval()
    rng = np.random.default_rng(1)
    x, h, c = (rng.standard_normal((batch, hidden), np.float32).astype(dtype) for _ in range(3))
    parts = [be.array(one.detach().cpu().numpy()) for one in cell.state_dict().values()]
    of_us = [be.array(one) for one in (x, h, c)]
    of_torch = [t.from_numpy(one).to(torch.where) for one in (x, h, c)]
    function = getattr(tw.nn, f"{name}_cell")
    hx = (of_us[1], of_us[2]) if name == "lstm" else of_us[1]
    their_hx = (of_torch[1], of_torch[2]) if name == "lstm" else of_torch[1]

    def theirs() -> Any:
        with t.no_grad():
            return cell(of_torch[0], their_hx)

    def products() -> Any:
        return of_us[0] @ parts[0].T, of_us[1] @ parts[1].T

    return {
        "tilewright": (lambda: function(of_us[0], hx, *parts), be.synchronize),
        "its products": (products, be.synchronize),
        "torch": (theirs, torch.wait),
    }


def main() -> None:
    parser = options(__doc__, turns=9)
    parser.add_argument("--dtype", default="float32", help="default: %(default)s")
    parser.add_argument("--cells", nargs="*", default=CELLS, help="default: %(default)s")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import tilewright

    with tilewright.init_backend(arguments.device) as be:
        torch = torch_beside(be, arguments.threads)
        print(f"{be.device.name}; {torch}")
        for name in arguments.cells:
            for batch, steps, hidden in SIZES:
                sides = layer_sides(be, torch, name, batch, steps, hidden, arguments.dtype)
                own, ratios = in_turns(sides, arguments.turns, 3)
                print(
                    f"{name:4s} {batch:3d} x {steps} x {hidden:3d} {arguments.dtype}: "
                    f"{own * 1e3:9.3f} ms  {ratios}",
                    flush=True,
                )
            for batch in (1, 32):
                sides = cell_sides(be, torch, name, batch, 512, arguments.dtype)
                own, ratios = in_turns(sides, arguments.turns, 50)
                print(
                    f"{name}_cell {batch:2d} x 512 {arguments.dtype}: "
                    f"{own * 1e6:9.1f} us  {ratios}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
