"""What can be built by name explains its parameters. A new thing is tested by existing."""

import pytest

import heavytail as ht
from heavytail.checks import parameter_texts
from heavytail.description import summary
from heavytail.registry import FOLDERS, Registered

# Figures are drawn by the report, which gives them what they need.
THINGS = [entry for kind in FOLDERS if kind != "figure" for entry in ht.registered(kind)]


@pytest.mark.parametrize("entry", THINGS, ids=lambda entry: f"{entry.kind}:{entry.name}")
def test_it_says_what_it_is_and_what_every_parameter_means(entry: Registered) -> None:
    assert summary(entry.doc)
    texts = parameter_texts(entry.doc)
    assert set(entry.parameters) == set(texts)
    assert all(texts.values())
