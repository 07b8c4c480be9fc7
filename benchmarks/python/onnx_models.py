"""ResNet-50 and MobileNetV2 from ONNX beside ONNX Runtime, one image of 224.

    python benchmarks/python/onnx_models.py [--device webgpu:0] [--threads N] [--turns N]
        [--batch N] [--bert] [--profile]

Beside a GPU the peer is ONNX Runtime's WebGPU where its package has it (onnxruntime-webgpu), else
its processor. Both sides read the same file with random weights, whose norms are nodes of their
own, and take NumPy's array to NumPy's array. Their results are compared first. Shown are our
milliseconds, the median of the turns, and the median ratio turn by turn; above 1 we are the faster
ones. --bert times a BERT of 4 layers of 256 with 128 tokens as well, and --profile shows our
kernels by their time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
from turns import in_turns, options

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

GPU = "WebGpuExecutionProvider"


def main() -> None:
    parser = options(__doc__, turns=21)
    parser.add_argument("--batch", type=int, default=1, help="images; default: %(default)s")
    parser.add_argument("--bert", action="store_true", help="a BERT too")
    parser.add_argument("--profile", action="store_true", help="kernels by their time")
    arguments = parser.parse_args()
    harness.threads(arguments.threads)
    import numpy as np
    import onnxruntime
    import tilewright
    from conformance import onnx_graphs

    random = np.random.default_rng(0)
    batch = arguments.batch
    image = {"image": random.standard_normal((batch, 3, 224, 224), np.float32)}
    words = {
        "input_ids": random.integers(0, 1000, (batch, 128)),
        "attention_mask": np.ones((batch, 128), np.int64),
        "token_type_ids": np.zeros((batch, 128), np.int64),
    }
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "ResNet-50": (lambda: onnx_graphs.resnet50(batch=batch), image),
        "MobileNetV2": (lambda: onnx_graphs.mobilenet_v2(batch=batch), image),
    }
    if arguments.bert:
        cases["BERT, 4 layers of 256"] = (lambda: onnx_graphs.bert(4, 256, 8, 1000, 128), words)
    peer = onnxruntime.SessionOptions()
    peer.intra_op_num_threads = arguments.threads
    # Else its threads wait for more work awake, on the cores on which ours run then.
    peer.add_session_config_entry("session.force_spinning_stop", "1")
    provider = "CPUExecutionProvider"
    if arguments.device != "cpu" and GPU in onnxruntime.get_available_providers():
        provider = GPU
    with tempfile.TemporaryDirectory() as folder, tilewright.init_backend(arguments.device) as be:
        print(f"{be.device.name}, {arguments.threads} threads, {arguments.turns} turns; {provider}")
        for name, (make, given) in cases.items():
            path = Path(folder) / "model.onnx"
            onnx_graphs.save(make(), path)
            model: Any = tilewright.models.load(path, be)
            session = onnxruntime.InferenceSession(path, peer, providers=[provider])

            def ours(model: Any = model, given: Any = given) -> Any:
                found = model(given)
                return (found[0] if isinstance(found, tuple) else found).numpy()

            def theirs(session: Any = session, given: Any = given) -> Any:
                return session.run(None, given)[0]

            # Recorded at the second call.
            own, wanted = [ours() for _ in range(3)][-1], theirs()
            error = float(np.abs(own - wanted).max() / np.abs(wanted).max())
            sides = {
                "tilewright": (ours, lambda: None),
                "ONNX Runtime": (theirs, lambda: None),
            }
            seconds, ratios = in_turns(sides, arguments.turns, 1)
            print(f"{name}: {seconds * 1e3:.1f} ms, {ratios}; error {error:.1e} of the largest")
            if arguments.profile:
                with be.profile() as profile:
                    ours()
                print(profile)
            model.clear()
            del model


if __name__ == "__main__":
    main()
