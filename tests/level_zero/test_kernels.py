"""Kernels of one's own: what is refused, and what the driver's compiler says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

WGSL = "@compute @workgroup_size(1) fn main() {}"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (repr(WGSL), "is no SPIR-V module, which is what level-zero takes"),
        ("b'abcd' * 10", "is no SPIR-V module"),
        ("MODULE[:404]", "begins an instruction"),
        ("MODULE[:21]", "expected the words of a SPIR-V module"),
        ("MODULE, 'other'", 'it has no kernel "other"; its kernels are: saxpy, rounds'),
    ],
)
def test_what_is_refused(succeeds: Callable[..., str], code: str, words: str) -> None:
    message = succeeds(f"""
MODULE = Path(os.environ["MODULE"]).read_bytes()
with tw.init_backend(DEVICE) as be:
    print(raised(tw.KernelError, lambda code, entry="saxpy": be.kernel(code, entry, trusted=True),
                 *[{code}]))
    assert computes(be)
""")
    assert words in message


def test_code_that_is_not_trusted(succeeds: Callable[..., str]) -> None:
    message = succeeds("""
MODULE = Path(os.environ["MODULE"]).read_bytes()
with tw.init_backend(DEVICE) as be:
    print(raised(tw.Unsupported, be.kernel, MODULE, entry="saxpy"))
""")
    assert "pass trusted=True" in message


def test_what_the_compiler_says(succeeds: Callable[..., str]) -> None:
    message = succeeds("""
from module import unbuildable
code = unbuildable(Path(os.environ["MODULE"]).read_bytes())
with tw.init_backend(DEVICE) as be:
    print(raised(tw.KernelError, be.kernel, code, entry="saxpy", trusted=True))
    assert computes(be)
assert CpuDriver().alive() == ""
""")
    first, *rest = message.splitlines()
    assert first == "saxpy does not compile:"
    assert rest


def test_webgpu_takes_no_spirv(succeeds: Callable[..., str]) -> None:
    message = succeeds("""
with tw.init_backend("webgpu:0") as be:
    print(raised(tw.KernelError, be.kernel, Path(os.environ["MODULE"]).read_bytes()))
""")
    assert "is a SPIR-V module, but the webgpu backend takes WGSL" in message


def test_negative_numbers_for_types_of_either_sign(succeeds: Callable[..., str]) -> None:
    succeeds("""
with tw.init_backend(DEVICE) as be:
    k, x = kernel(be, "rounds"), be.zeros(64)
    assert [(p.name, p.type) for p in k.params] == [("argument1", "int32")]
    k(x, grid=1, params=2)
    assert np.allclose(x.numpy(), 0.5 * 0.999 + 0.5)
    # As an unsigned number, which the code takes it for, more than 2^32 - 1 does not fit.
    for wrong in (2**32, -(2**31) - 1): raised(tw.InvalidArgument, k, x, grid=1, params=wrong)
    assert k._layout.pack(-1) == b"\\xff" * 4
""")


def test_kernels_and_buffers_freed_while_they_are_queued(succeeds: Callable[..., str]) -> None:
    succeeds(
        """
with tw.init_backend(DEVICE) as be:
    y = be.zeros(1 << 20)
    for i in range(200):
        x = be.full(1 << 20, 1.0) if i < 3 else be.array(np.ones(1 << 20, np.float32))
        kernel(be, "saxpy")(x, y, grid=1 << 14, params=(1 << 20, 1.0))
        del x
        be.trim()
    assert (y.numpy() == 200).all()
    del y
assert CpuDriver().alive() == "", CpuDriver().alive()
""",
        ZE_CPU_POISON="1",
    )
