"""What Stable-Baselines3 needs: a folder for its loggers, and no module that looks like OpenAI's gym."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def folder_for_loggers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SB3_LOGDIR", str(tmp_path_factory.mktemp("loggers")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_gym() -> Iterator[None]:
    """Hide the folder tests/gym: it would be asked for its version when a model is saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "gym", None)  # importing it is an ImportError
        yield
