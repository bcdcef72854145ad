"""Gives the loggers of Stable-Baselines3 a folder, so that they leave none in the temporary directory."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def folder_for_loggers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SB3_LOGDIR", str(tmp_path_factory.mktemp("loggers")))
        yield
