"""Where there is no GPU, or not enough of one, a line says what to do."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError, install_extra
from heavytail.studies.engines import make_engine
from heavytail.training.lanes import device

SPEC = 'name = "x"\nepisodes = 10\nseeds = 1\n[envs.six_arms]\n[agents.random]\n'
runner = CliRunner()


def not_installed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(device, "find_spec", lambda name: None)


def without_bindings(patch: pytest.MonkeyPatch) -> None:
    """numba-cuda is installed, but something it imports is missing."""
    patch.setattr(device, "find_spec", lambda name: object())

    def missing(name: str) -> Any:
        raise ImportError("No module named\n 'cuda.bindings'")

    patch.setattr(device, "import_module", missing)


class NoDriver:
    @staticmethod
    def current_context() -> Any:
        raise RuntimeError("Error at driver init: \nno library")


def without_driver(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(device, "find_cuda", NoDriver)


INSTALL = install_extra("cuda")
CASES: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (not_installed, f"lanes need numba-cuda; {INSTALL}"),
    (
        without_bindings,
        (
            "numba-cuda is installed, but something it needs is missing"
            f" (No module named 'cuda.bindings'); {INSTALL}"
        ),
    ),
    (
        without_driver,
        (
            "no NVIDIA GPU can be used here (Error at driver init: no library); use --engine local, or"
            " install its driver and see what nvidia-smi says"
        ),
    ),
]


@pytest.mark.parametrize(("lacking", "message"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_lacking_is_said_in_a_line(
    lacking: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch)
    with pytest.raises(InputError) as caught:
        make_engine("cuda")
    assert str(caught.value) == message
    (tmp_path / "spec.toml").write_text(SPEC)
    done = runner.invoke(
        app, ["run", str(tmp_path / "spec.toml"), "--out", str(tmp_path / "out"), "--engine", "cuda"]
    )
    assert (done.exit_code, done.stderr) == (2, f"heavytail: {message}\n")
    assert not (tmp_path / "out").exists()


class ApiError(Exception):
    """As a driver's."""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba-cuda's class of errors, where numba-cuda is not."""
    module = ModuleType("numba.cuda.cudadrv.driver")
    vars(module)["CudaAPIError"] = ApiError
    for name in ("numba.cuda", "numba.cuda.cudadrv"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def failing(error: Exception) -> Any:
    """A CUDA that cannot give memory."""

    def to_device(array: Any) -> Any:
        raise error

    return SimpleNamespace(to_device=to_device)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    "error",
    [
        ApiError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"),
        ApiError("out of memory"),
        MemoryError(),
    ],
)
def test_too_little_memory_is_said_in_a_line(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_cuda", lambda: failing(error))
    with pytest.raises(InputError) as caught:
        device.to_device(np.zeros(3))
    assert str(caught.value) == (
        "the GPU has too little memory left for these lanes; run fewer at once with --lanes, or free"
        " it (nvidia-smi shows what uses it)"
    )


@pytest.mark.usefixtures("driver")
def test_another_error_of_the_driver_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_cuda", lambda: failing(ApiError("CUDA_ERROR_ILLEGAL_ADDRESS")))
    with pytest.raises(ApiError, match="ILLEGAL_ADDRESS"):
        device.to_device(np.zeros(3))


# How many lanes


@pytest.mark.parametrize(
    ("engine", "lanes", "message"),
    [
        *(
            (engine, 5, f"^{engine} has no parameter 'lanes'; (choose from: |it takes none$)")
            for engine in ("local", "inline", "ray")
        ),
        *(("cuda", lanes, f"^cuda: lanes must be at least 1, got {lanes}$") for lanes in (0, -1)),
    ],
)
def test_lanes_are_for_a_gpu_and_at_least_one(engine: str, lanes: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_engine(engine, lanes=lanes)
    assert "\n" not in str(caught.value)


def test_the_command_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    command = ["run", str(tmp_path / "spec.toml"), "--out", str(tmp_path / "out")]
    done = runner.invoke(app, [*command, "--lanes", "5"])
    assert done.exit_code == 2
    assert done.stderr == "heavytail: local has no parameter 'lanes'; choose from: workers\n"
    none = runner.invoke(app, [*command, "--engine", "cuda", "--lanes", "0"])
    assert none.exit_code == 2
    assert "greater than or equal to 1" in none.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(0, device.CHUNK_SECONDS), (1, device.DESKTOP_SECONDS)], ids=["none", "desktop"]
)
def test_a_gpu_that_draws_a_desktop_is_busy_for_less_time(
    monkeypatch: pytest.MonkeyPatch, timeout: int, seconds: float
) -> None:
    gpu = SimpleNamespace(KERNEL_EXEC_TIMEOUT=timeout)
    cuda = SimpleNamespace(current_context=lambda: SimpleNamespace(device=gpu))
    monkeypatch.setattr(device, "find_cuda", lambda: cuda)
    assert device.chunk_seconds() == seconds
