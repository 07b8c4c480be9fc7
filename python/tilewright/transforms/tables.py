"""Roots of one, computed in float64 on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Host = npt.NDArray[Any]


def roots(places: Any, n: int, sign: int) -> Host:
    """exp(sign * 2 pi i * place / n), of integer places."""
    turn: Host = np.exp(sign * 2j * np.pi * ((np.asarray(places) % n) / n))
    return turn


def matrix(n: int, sign: int) -> Host:
    """By which a row of n complex numbers is multiplied to be transformed."""
    steps = np.arange(n, dtype=np.int64)
    return roots(np.outer(steps, steps), n, sign)


def of_parts(complex_matrix: Host) -> Host:
    """The same for rows of real and imaginary parts side by side."""
    rows, columns = complex_matrix.shape
    both = np.empty((rows, 2, columns, 2))
    both[:, 0, :, 0] = both[:, 1, :, 1] = complex_matrix.real
    both[:, 0, :, 1] = complex_matrix.imag
    both[:, 1, :, 0] = -complex_matrix.imag
    return both.reshape(2 * rows, 2 * columns)


def from_real(n: int) -> Host:
    """From a row of n real numbers to the parts of the first n // 2 + 1 of its transform."""
    complex_matrix = matrix(n, -1)[:, : n // 2 + 1]
    return np.stack([complex_matrix.real, complex_matrix.imag], -1).reshape(n, -1)


def to_real(n: int) -> Host:
    """From those parts back to n real numbers. Imaginary parts that a real row does not have are
    left out."""
    count = n // 2 + 1
    turn = matrix(n, 1)[:count]
    both = np.empty((count, 2, n))
    both[:, 0], both[:, 1] = 2 * turn.real, -2 * turn.imag
    both[0, 0] /= 2
    both[0, 1] = 0
    if n % 2 == 0:
        both[-1, 0] /= 2
        both[-1, 1] = 0
    return both.reshape(2 * count, n)


def chirp(n: int, sign: int) -> Host:
    """exp(sign * pi i * j * j / n)."""
    steps = np.arange(n, dtype=object) if n > 1 << 30 else np.arange(n, dtype=np.int64)
    return roots((steps * steps % (2 * n)).astype(np.int64), 2 * n, sign)


def turns(n: int) -> Host:
    """The turns of a step of the trait's fft(): neighbouring roots, and then each step-th."""
    step = 1
    while step * step < n:
        step *= 2
    places = np.append(np.arange(step), step * np.arange(-(-n // step), dtype=np.int64))
    return roots(places, n, -1)
