"""What a user writes, with the type of each result: mypy --strict reads it, and test_types.py runs
it with an assert_type that looks at the values."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import assert_type

import numpy as np
import numpy.typing as npt
import tilewright as tw
from tilewright.linalg import LinAlgError
from tilewright.namespace.factorisations import QRResult, SlogdetResult
from tilewright.namespace.sets import UniqueAll, UniqueCounts, UniqueInverse
from tilewright.namespace.spectra import EighResult, EigResult, SVDResult
from tilewright.nn.added_norms import AddedNorm
from tilewright.sparse.linalg import cg


def double(x: tw.Array) -> tw.Array:
    return tw.exp(x) * 2


def normalised(x: tw.Array) -> tw.Array:
    return (x - x.mean()) / x.std()


def positive(x: tw.Array) -> tw.Array:
    return x > 0


def folded(x: tw.Array) -> tw.Array:
    return -x + tw.abs(x)


def added(x: tw.Array, y: tw.Array) -> tw.Array:
    return x + y


def operators(x: tw.Array) -> None:
    i = tw.asarray([1, 2, 3], device=x.device)
    assert_type(x + 1, tw.Array)
    assert_type(1 - x, tw.Array)
    assert_type(2.5 * x, tw.Array)
    assert_type(1 / (x + 3), tw.Array)
    assert_type(x // 2, tw.Array)
    assert_type(7 % (x + 3), tw.Array)
    assert_type(x**2, tw.Array)
    assert_type(2**x, tw.Array)
    assert_type(x @ x.T, tw.Array)
    assert_type(divmod(x, 2), tuple[tw.Array, tw.Array])
    assert_type(divmod(2, x + 3), tuple[tw.Array, tw.Array])
    assert_type(i & 1, tw.Array)
    assert_type(1 | i, tw.Array)
    assert_type(i ^ i, tw.Array)
    assert_type(i << 1, tw.Array)
    assert_type(64 >> i, tw.Array)
    assert_type(~i, tw.Array)
    assert_type(x == 1, tw.Array)
    assert_type(x != x, tw.Array)
    assert_type(x < 1, tw.Array)
    assert_type(x >= x[0], tw.Array)
    assert_type(abs(x), tw.Array)
    assert_type(x[0, 1:], tw.Array)
    y = x.copy()
    y += 1
    y -= x
    y *= 2
    y /= 3
    y **= 2
    assert_type(y, tw.Array)
    i //= 1
    i &= 3
    i <<= 1
    assert_type(i, tw.Array)
    assert_type(float(x.sum()), float)
    assert_type(len(x), int)
    assert_type(x.numpy(), npt.NDArray[typing.Any])
    assert_type(list(x), list[tw.Array])


def namespace(x: tw.Array) -> None:
    assert_type(tw.zeros((2, 3), device=x.device), tw.Array)
    assert_type(tw.arange(4, device=x.device), tw.Array)
    assert_type(tw.asarray(np.ones(3), device=x.device), tw.Array)
    assert_type(tw.meshgrid(x[0], x[1]), tuple[tw.Array, ...])
    assert_type(tw.concat([x, x]), tw.Array)
    assert_type(tw.unstack(x), tuple[tw.Array, ...])
    assert_type(tw.broadcast_arrays(x, x[0]), tuple[tw.Array, ...])
    assert_type(tw.where(x > 0, x, 0.0), tw.Array)
    assert_type(tw.where(x > 0), tuple[tw.Array, ...])
    assert_type(tw.nonzero(x), tuple[tw.Array, ...])
    assert_type(tw.clip(x, 0, 1), tw.Array)
    assert_type(tw.maximum(x, 0), tw.Array)
    assert_type(tw.sum(x, axis=0), tw.Array)
    assert_type(tw.argmax(x), tw.Array)
    assert_type(tw.sort(x), tw.Array)
    assert_type(tw.unique(x), tw.Array)
    assert_type(tw.unique(x, return_counts=True), tuple[tw.Array, tw.Array])
    assert_type(
        tw.unique(x, return_index=True, return_counts=True), tuple[tw.Array, tw.Array, tw.Array]
    )
    assert_type(tw.unique_all(x), UniqueAll)
    assert_type(tw.unique_counts(x), UniqueCounts)
    assert_type(tw.unique_inverse(x), UniqueInverse)
    assert_type(tw.intersect1d(x, x), tw.Array)
    assert_type(tw.intersect1d(x, x, return_indices=True), tuple[tw.Array, tw.Array, tw.Array])
    assert_type(tw.atleast_2d(x[0]), tw.Array)
    assert_type(tw.atleast_1d(x, x), tuple[tw.Array, ...])
    assert_type(tw.average(x, axis=0), tw.Array)
    assert_type(tw.average(x, returned=True), tuple[tw.Array, tw.Array])
    assert_type(tw.gradient(x, axis=0), tw.Array)
    assert_type(tw.gradient(x), tw.Array | tuple[tw.Array, ...])
    assert_type(tw.fromfunction(added, (2, 2), device=x.device), tw.Array)
    assert_type(tw.matmul(x, x.T), tw.Array)
    assert_type(tw.einsum("ij,kj->ik", x, x), tw.Array)


def modules(x: tw.Array) -> None:
    square = x @ x.T + 3 * tw.eye(2, device=x.device)
    u, s, vh = tw.linalg.svd(x, full_matrices=False)
    assert_type((u * s) @ vh, tw.Array)
    assert_type(tw.linalg.svd(x), SVDResult)
    assert_type(tw.linalg.svd(x).S, tw.Array)
    assert_type(tw.linalg.svd(x, compute_uv=False), tw.Array)
    assert_type(tw.linalg.svd(x, False, False), tw.Array)
    assert_type(tw.linalg.qr(x), QRResult)
    assert_type(tw.linalg.qr(x, "complete").Q, tw.Array)
    assert_type(tw.linalg.qr(x, mode="r"), tw.Array)
    assert_type(tw.linalg.eigh(square), EighResult)
    assert_type(tw.linalg.eig(square), EigResult)
    assert_type(tw.linalg.slogdet(square), SlogdetResult)
    assert_type(tw.linalg.slogdet(square).logabsdet, tw.Array)
    assert_type(tw.linalg.solve(square, x), tw.Array)
    assert_type(tw.linalg.norm(x), tw.Array)
    try:
        tw.linalg.cholesky(square)
    except LinAlgError:
        raise
    assert_type(tw.fft.rfft(x), tw.Array)
    assert_type(tw.fft.fftfreq(4, device=x.device), tw.Array)

    rng = tw.random.default_rng(1, device=x.device)
    assert_type(rng, tw.random.Generator)
    assert_type(rng.normal(size=(2, 3)), tw.Array)
    assert_type(rng.integers(0, 9, 4), tw.Array)

    image = tw.ones((1, 2, 4, 4), device=x.device)
    assert_type(tw.nn.relu(x), tw.Array)
    assert_type(tw.nn.softmax(x), tw.Array)
    assert_type(tw.nn.layer_norm(x, 3), tw.Array)
    assert_type(tw.nn.max_pool2d(image, 2), tw.Array)
    assert_type(tw.nn.max_pool2d(image, 2, return_indices=True), tuple[tw.Array, tw.Array])
    assert_type(tw.nn.adaptive_max_pool2d(image, 2), tw.Array)
    assert_type(tw.nn.adaptive_max_pool2d(image, 2, True), tuple[tw.Array, tw.Array])
    assert_type(tw.nn.add_rms_norm(x, x, 3), AddedNorm)
    assert_type(tw.nn.add_rms_norm(x, x, 3, return_sum=False), tw.Array)
    assert_type(tw.nn.add_layer_norm(x, x, 3).sum, tw.Array)
    assert_type(tw.nn.batch_norm(image, training=True), tw.Array)
    assert_type(
        tw.nn.batch_norm(image, training=True, return_statistics=True),
        tuple[tw.Array, tw.Array, tw.Array],
    )

    a = tw.sparse.csr_array(square)
    assert_type(a @ x, tw.Array)
    assert_type(a @ a, tw.sparse.csr_array)
    assert_type(a[0, 1], tw.Array)
    assert_type(a[0:1], tw.sparse.SparseArray)
    assert_type(a + a, tw.sparse.SparseArray)
    assert_type(a + square, tw.Array)
    assert_type(2 * a, tw.sparse.SparseArray)
    assert_type(a.sum(axis=0), tw.Array)
    solution, _ = cg(a, x[:, 0])
    assert_type(solution, tw.Array)

    packed = tw.quant.quantize_blocks(tw.ones((4, 32), device=x.device), "q8_0")
    assert_type(packed, tw.quant.QuantizedTensor)
    assert_type(packed.dequantize(), tw.Array)
    assert_type(tw.quant.matmul(tw.ones((1, 32), device=x.device), packed), tw.Array)


@tw.compile
def scaled(x: tw.Array, factor: float = 2.0) -> tw.Array:
    return x * factor


class Layer:
    def __init__(self, weight: tw.Array) -> None:
        self.weight = weight

    @tw.compile
    def both(self, x: tw.Array) -> tuple[tw.Array, tw.Array]:
        return x @ self.weight, x


def compiled(x: tw.Array) -> None:
    assert_type(scaled(x), tw.Array)
    assert_type(scaled(x, factor=3.0), tw.Array)
    applied: Callable[[tw.Array], tuple[tw.Array, tw.Array]] = Layer(x.T).both
    assert_type(applied(x), tuple[tw.Array, tw.Array])
    scaled.clear()


def refused(x: tw.Array, decoder: tw.models.Decoder) -> None:
    """Not run: what each ignore names has to be an error."""
    scaled(x, factor="three")  # type: ignore[arg-type]
    scaled(x, scale=3.0)  # type: ignore[call-arg]
    Layer(x).both(x, x)  # type: ignore[call-arg]
    wrong: tw.Array = tw.linalg.svd(x)  # type: ignore[assignment]
    number: int = x + 1  # type: ignore[assignment]
    q, r, rest = tw.linalg.qr(x)  # type: ignore[misc]
    print(wrong, number, q, r, rest)
    assert_type(decoder.generate("Once", stop="."), str)
    assert_type(decoder.generate(["Once", "Twice"]), list[str])
    assert_type(decoder.generate([1, 2]), list[int])
    assert_type(decoder.generate([[1], [2]]), list[list[int]])


def main(device: str = "cpu") -> None:
    with tw.init_backend(device) as be:
        x = tw.asarray([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.5]], device=be)
        for one in (double, normalised, positive, folded):
            assert_type(one(x), tw.Array)
        operators(x)
        namespace(x)
        modules(x)
        compiled(x)


if __name__ == "__main__":
    main()
