"""On the CPU backend a profile has one record for each op, under its name."""

from collections.abc import Callable

import numpy as np
import pytest
import tilewright

OPS: dict[str, Callable[[tilewright.Backend, tilewright.Array], object]] = {
    "gemm": lambda be, x: be.gemm("none", "none", 2, 2, 2, 1.0, x, 2, x, 2, 0.0, be.empty(4), 2),
    "batched_gemm": lambda be, x: be.matmul(x.reshape(2, 2, 4), x.reshape(2, 4, 2)),
    "gemm_mixed_precision": lambda be, x: be.matmul(
        x.reshape(4, 4), x.reshape(4, 4), precision="bfloat16"
    ),
    "matmul_vec": lambda be, x: be.matmul_vec(x, 4, 4, x, be.empty(4)),
    "conv2d_forward": lambda be, x: be.conv2d(x.reshape(1, 1, 4, 4), x.reshape(1, 1, 4, 4)),
    "attention": lambda be, x: be.attention(*[x.reshape(1, 1, 4, 4)] * 3),
    "softmax": lambda be, x: be.softmax(x),
    "softmax_log": lambda be, x: tilewright.nn.log_softmax(x),
    "rmsnorm": lambda be, x: be.rmsnorm(x.reshape(1, 16), x),
    "unary_exp": lambda be, x: be.exp(x),
    "binary_max": lambda be, x: be.maximum(x, x),
    "reduce_mean": lambda be, x: be.mean(x, 0),
    "cast": lambda be, x: be.cast(x, "float16"),
}


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_one_record(be: tilewright.Backend, name: str) -> None:
    x = be.array(np.ones(16, np.float32))
    with be.profile() as p:
        OPS[name](be, x)
    assert [(r.kernel, r.grid) for r in p.records] == [(name, (1, 1, 1))]


def test_copies_and_what_is_refused_are_not_in_it(be: tilewright.Backend) -> None:
    x, zeros = be.array(np.ones(16, np.float32)), be.zeros(16)
    with be.profile() as p:
        be.copy_dtod(x, zeros, 64)
        x.numpy()
        with pytest.raises(tilewright.InvalidArgument):
            be.unary("exp", x, x, 17)
    assert p.records == []


def test_what_runs_outside_is_not_in_it(be: tilewright.Backend) -> None:
    x = be.array(np.ones(16, np.float32))
    be.begin_profile()
    be.close()
    be.init()
    y = be.array(np.ones(16, np.float32))
    be.exp(y)
    with be.profile() as p:
        be.relu(y)
    be.exp(y)
    assert [r.kernel for r in p.records] == ["unary_relu"]
    del x
