from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Lt

import heavytail as ht
from heavytail.checks import Count, Positive, parameter_texts
from heavytail.description import type_in_words
from heavytail.errors import InputError


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (float, "number"),
        (Positive, "number above 0"),
        (Positive | None, "number above 0, or None"),
        (Count, "whole number at least 1"),
        (Annotated[int, Ge(1), Lt(32)], "whole number at least 1 and below 32"),
        (Literal["a", "b"], "'a' or 'b'"),
        (dict[str, Any] | None, "table, or None"),
        (ht.MDP, "MDP"),
        (Any, "anything"),
    ],
)
def test_types_are_said_in_words(hint: Any, words: str) -> None:
    assert type_in_words(hint) == words


def test_a_description_has_texts_types_and_defaults() -> None:
    found = ht.describe("heavy_q_learning")
    assert found.kind == "agent"
    moment = next(p for p in found.parameters if p.name == "moment")
    assert (moment.type, moment.default) == ("number above 0, or None", "None")
    assert moment.text.startswith("u, a bound on the raw moments")
    assert "problem" not in [p.name for p in found.parameters]
    page = repr(found).splitlines()
    assert page[0] == "heavy_q_learning, an agent"
    assert "delta: number above 0 and below 1 = 0.05" in page
    assert max(map(len, page)) <= 110


def test_of_several_things_with_a_name_the_kind_chooses() -> None:
    assert ht.describe("heavy_ucrl2", "bound").kind == "bound"
    with pytest.raises(InputError, match="nothing is registered as 'heavy_q_lerning'; did you mean"):
        ht.describe("heavy_q_lerning")


def test_the_help_of_make_agent_leads_to_the_parameters() -> None:
    for function in (ht.make_agent, ht.make_mdp):
        assert "ht.describe(" in (function.__doc__ or "")


def test_a_missing_argument_is_explained_in_one_line() -> None:
    with pytest.raises(InputError) as caught:
        ht.estimators.truncated_mean(epsilon=0.5)  # type: ignore[call-arg]
    message = str(caught.value)
    assert message.startswith("truncated_mean needs moment= (u, a bound on the raw moments")
    assert "law.moment(1 + epsilon)" in message
    assert message.endswith("; `heavytail list truncated_mean` explains its parameters")


def test_texts_end_with_their_section() -> None:
    doc = "A.\n\nArgs:\n    a: one,\n        two: three.\n\n    b: four.\n\nReturns:\n    c: five.\n"
    assert parameter_texts(doc) == {"a": "one, two: three.", "b": "four."}
    assert parameter_texts("A.") == {}
