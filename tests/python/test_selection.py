"""Which backend one gets."""

from __future__ import annotations

import pytest
import tilewright as tw

from .conftest import Run


def test_devices_lists_every_backend() -> None:
    found = tw.devices()
    assert {device.backend for device in found} == {"level-zero", "webgpu", "cpu"}
    assert len({device.id for device in found}) == len(found)
    for device in found:
        assert device.available == (device.reason == "")
        assert device.id.startswith(device.backend + ":")


@pytest.mark.parametrize("preference", ["cpu", "cpu:0", "CPU", "Cpu:0"])
def test_a_named_backend_is_the_one(preference: str) -> None:
    with tw.init_backend(preference) as backend:
        assert isinstance(backend, tw.CpuBackend)
        assert backend.is_initialized
        assert backend.device.id == "cpu:0"


@pytest.mark.parametrize(
    ("preference", "message"),
    [
        ("gpu", 'preference is "gpu", expected auto, a backend'),
        ("", 'preference is "", expected auto'),
        ("CUDA", 'preference is "CUDA"'),
        (None, "preference is None, expected a str"),
        (3, "preference is 3"),
    ],
)
def test_unknown_preferences_are_refused(preference: object, message: str) -> None:
    with pytest.raises(tw.InvalidArgument, match=message):
        tw.init_backend(preference)  # type: ignore[arg-type]


def test_a_named_preference_never_falls_back() -> None:
    with pytest.raises(tw.BackendUnavailable, match="cpu:7"):
        tw.init_backend("cpu:7")
    for name, cls in (("webgpu", tw.WebGPUBackend), ("level-zero", tw.LevelZeroBackend)):
        assert cls().name == name
        missing = [d for d in tw.devices() if d.backend == name and not d.available]
        for device in missing:
            with pytest.raises(tw.BackendUnavailable) as raised:
                tw.init_backend(device.id)
            assert device.reason in str(raised.value)


def test_names_of_backends_in_any_case() -> None:
    for name, written in (("level-zero", "Level_Zero"), ("webgpu", "WebGPU"), ("cpu", "CPU")):
        assert tw.Backend(written).name == name
        assert tw.is_available(written) == tw.is_available(name)


def test_a_backend_says_whether_it_is_available() -> None:
    for cls in (tw.CpuBackend, tw.WebGPUBackend, tw.LevelZeroBackend):
        name = cls().name
        assert cls.is_available() == cls().is_available() == tw.is_available(name)
        listed = any(d.available for d in tw.devices() if d.backend == name)
        assert listed or not cls.is_available()
    assert tw.CpuBackend.is_available()
    with pytest.raises(tw.InvalidArgument, match='backend is "gpu", expected one of level-zero'):
        tw.is_available("gpu")
    with pytest.raises(tw.InvalidArgument, match="is_available: name is None, expected a str"):
        tw.is_available(None)  # type: ignore[arg-type]


ASK = "import tilewright as tw; print(tw.init_backend({}).device.id)"


def test_the_environment_replaces_auto_only(run_python: Run) -> None:
    for name in ("cpu:0", "CPU"):
        assert run_python(ASK.format(""), TILEWRIGHT_DEVICE=name).stdout == "cpu:0\n"
    for name in ("no such", "cpu:7"):
        said = run_python(ASK.format(""), TILEWRIGHT_DEVICE=name).stderr
        assert f'TILEWRIGHT_DEVICE is "{name}", ' in said
    said = run_python(ASK.format("adapter_index=0"), TILEWRIGHT_DEVICE="cpu:0").stderr
    assert 'adapter_index is 0, but TILEWRIGHT_DEVICE is "cpu:0"' in said
    assert run_python(ASK.format("'cpu'"), TILEWRIGHT_DEVICE="no such").stdout == "cpu:0\n"


def test_a_software_gpu_is_taken_only_where_that_is_allowed(run_python: Run) -> None:
    software = {d.id for d in tw.devices() if d.kind is tw.DeviceKind.software}
    assert run_python(ASK.format("")).stdout.strip() not in software
    assert run_python(ASK.format("'webgpu'")).stdout.strip() not in software
    allowed = run_python(ASK.format("'webgpu'"), TILEWRIGHT_ALLOW_SOFTWARE="1")
    assert allowed.stdout.startswith("webgpu:")


def test_a_named_backend_opens_no_other_one_s_library(run_python: Run) -> None:
    code = ASK.format("'cpu'") + "; print('libtilewright_wgpu' in open('/proc/self/maps').read())"
    assert run_python(code).stdout == "cpu:0\nFalse\n"


WRONG = [
    ("cpu", "TILEWRIGHT_ALLOW_SOFTWARE", "maybe", "1 or 0"),
    ("cpu", "TILEWRIGHT_NUM_THREADS", "0", "a whole number from 1 to 1024"),
    ("auto", "TILEWRIGHT_NUM_THREADS", "many", "a whole number from 1 to 1024"),
    ("cpu", "TILEWRIGHT_CPU_ISA", "sse", "baseline, avx2 or avx512"),
    ("webgpu:0", "TILEWRIGHT_TUNING", "2", "1 or 0"),
    ("webgpu", "TILEWRIGHT_WEBGPU", "vulkan", "auto, wgpu or dawn"),
    ("webgpu", "TILEWRIGHT_WEBGPU_IMMEDIATES", "all", "1 or 0"),
    ("webgpu", "TILEWRIGHT_WEBGPU_THREAD", "all", "1 or 0"),
    ("level-zero", "TILEWRIGHT_ZE_SUBGROUPS", "16", "1 or 0"),
    ("cpu", "TILEWRIGHT_DEVICE", "gpu", "auto, a backend (level-zero, webgpu, cpu) or a device id"),
]


@pytest.mark.parametrize(("preference", "name", "value", "expected"), WRONG)
def test_a_wrong_variable_is_an_invalid_argument(
    run_python: Run, preference: str, name: str, value: str, expected: str
) -> None:
    """Which says its name, its value and what was expected; devices are listed all the same."""
    taken = "auto" if name == "TILEWRIGHT_DEVICE" else preference
    code = f"""
import tilewright as tw
assert {{one.backend for one in tw.devices()}} == {{"level-zero", "webgpu", "cpu"}}
try:
    with tw.init_backend({taken!r}) as be:
        tw.ones(3, device=be).sum().item()
except tw.InvalidArgument as error:
    print(error)
"""
    done = run_python(code, **{name: value})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f'{name} is "{value}", expected {expected}'), done.stdout


def test_devices_say_what_is_wrong_with_a_variable(run_python: Run) -> None:
    code = "import tilewright as tw; print(tw.devices()[-1].available, tw.devices()[-1].reason)"
    said = run_python(code, TILEWRIGHT_CPU_ISA="sse").stdout
    assert said == 'False TILEWRIGHT_CPU_ISA is "sse", expected baseline, avx2 or avx512\n'


def test_names_in_any_case(run_python: Run) -> None:
    code = "import tilewright as tw; print(tw.init_backend().device.features[0])"
    assert run_python(code, TILEWRIGHT_CPU_ISA="BaseLine", TILEWRIGHT_DEVICE="CPU").stdout == (
        "baseline\n"
    )


def test_the_number_of_threads_can_be_set(run_python: Run) -> None:
    code = "import tilewright as tw; print(tw.init_backend('cpu').capabilities().compute_units)"
    assert run_python(code, TILEWRIGHT_NUM_THREADS="3").stdout == "3\n"
