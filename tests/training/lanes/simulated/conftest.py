"""Runs these tests with a simulator that waits for its threads (`support.simulator`)."""

from collections.abc import Iterator

import pytest

from support.simulator import wait_for_threads


@pytest.fixture(scope="session", autouse=True)
def waiting_simulator() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        wait_for_threads(patch.setattr)
        yield
