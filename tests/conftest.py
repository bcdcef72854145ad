"""Tests that take long start first, so that no worker waits for them at the end."""

import pytest

LONG = ("test_packaging", "test_simulated", "test_faults", "test_audited", "test_dqn", "test_deep_backend")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
