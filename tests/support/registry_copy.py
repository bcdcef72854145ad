"""A registry for one test."""

import pytest

from heavytail import registry


def copy_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register what it likes.

    All modules are imported first: what they register while there is a copy would be gone with it.
    """
    for kind in registry.FOLDERS:
        registry.registered(kind)
    monkeypatch.setattr(registry, "_table", dict(registry._table))
