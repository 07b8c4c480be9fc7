"""Opens the devices and hands them to the tests."""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Generator, Iterator

import hypothesis
import numpy as np
import pytest
import tilewright

from .workspace import Workspace

# One line per device that the suite runs on: what init_backend() takes. A backend's name means its
# best device, a GPU that is emulated in software where there is no other.
DEVICES = [
    "cpu",
    "webgpu",
    "level-zero",
]

hypothesis.settings.register_profile(
    "conformance",
    deadline=None,
    max_examples=40,
    derandomize=True,
    database=None,
    suppress_health_check=[
        hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.too_slow,
    ],
)
hypothesis.settings.load_profile("conformance")

named = os.environ.get("TILEWRIGHT_TEST_DEVICES")
wanted = [name.strip() for name in named.split(",")] if named else DEVICES
on_cpu = any(name.partition(":")[0] == "cpu" for name in wanted)
gpus = [name for name in wanted if name.partition(":")[0] != "cpu"]
collect_ignore = [] if on_cpu else ["test_processor_settings.py"]
collect_ignore += [] if gpus else ["test_choices.py", "test_kernel.py", "test_translation.py"]

# What ops say on a device whose kernels cannot have it.
NO_FLOAT16 = "has no float16 in kernels (shader-f16)"

opened: dict[str, tilewright.Backend] = {}
without_float16: list[str] = []
left_out: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_ALLOW_SOFTWARE", "1")
        for device in wanted:
            try:
                backend = tilewright.init_backend(device)
                opened[backend.device.id] = backend
            except tilewright.Error as error:
                left_out[device] = str(error)
    # A device that was asked for must be there; on a CI machine every one of the list.
    if left_out and (named or os.environ.get("CI") or not opened):
        raise pytest.UsageError("\n".join(f"{name}: {why}" for name, why in left_out.items()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of matrix units, where no device has those they want: they run on Dawn."""
    items[:] = [item for item in items if not is_of_units(item) or device_of(item) in opened]


def is_of_units(item: pytest.Item) -> bool:
    return item.get_closest_marker("matrix_units") is not None


def device_of(item: pytest.Item) -> object:
    return item.callspec.params.get("device") if isinstance(item, pytest.Function) else None


def has_matrix_units(device: str) -> bool:
    return "matrix_units" in opened[device].device.features


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        "devices: " + ", ".join(f"{b.device.id} ({b.device.name})" for b in opened.values())
    )
    if without_float16:
        refused = f"{len(without_float16)} tests held that a device refuses float16 by its name"
        terminalreporter.write_line(refused)
    for device, reason in left_out.items():
        terminalreporter.write_line(f"NOT TESTED {device}: {reason}", red=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames and "candidate" not in metafunc.fixturenames:
        on_gpu = "gpu" in metafunc.fixturenames
        devices = [name for name in opened if not on_gpu or name.partition(":")[0] != "cpu"]
        if mark := metafunc.definition.get_closest_marker("matrix_units"):
            devices = [name for name in devices if has_matrix_units(name)]
            devices = [d for d in devices if not mark.args or d.partition(":")[0] in mark.args]
        metafunc.parametrize("device", devices, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A device without float16 in its kernels has to say so, and a test of float16 holds that."""
    try:
        return (yield)
    except tilewright.Unsupported as refusal:
        backend = opened.get(str(pyfuncitem.funcargs.get("device")))
        lacks_it = backend is not None and "float16" not in backend.device.features
        if not lacks_it or NO_FLOAT16 not in str(refusal):
            raise
        traceback.clear_frames(refusal.__traceback__)  # which hold the test's buffers
        without_float16.append(pyfuncitem.nodeid)
        return True


@pytest.fixture
def be(device: str) -> Iterator[tilewright.Backend]:
    """The backend under test. A test must leave no buffer behind."""
    backend = opened[device]
    before = backend.memory_stats()
    yield backend
    tilewright.fft.forget_plans()
    gc.collect(0)
    after = backend.memory_stats()
    if after.allocations > before.allocations:  # a cycle that a collection met may be old
        gc.collect()
        after = backend.memory_stats()
    assert after.allocations <= before.allocations, "the test left buffers behind"
    assert after.active_bytes <= before.active_bytes, "the test left bytes behind"


@pytest.fixture
def gpu(be: tilewright.Backend) -> tilewright.Backend:
    """The backend under test, for what GPUs alone have."""
    return be


@pytest.fixture
def ws(be: tilewright.Backend) -> Iterator[Workspace]:
    """Guarded buffers on that backend; see Workspace."""
    with Workspace(be) as workspace:
        yield workspace


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260701)


@pytest.fixture(params=["float32", "float16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)
