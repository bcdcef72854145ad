"""Messages stay one line that a terminal can show, whatever they repeat."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import MAX_MESSAGE, InputError, printable, suggestion

ANY_TEXT = st.text(st.characters(codec=None))


@given(ANY_TEXT)
def test_any_text_becomes_one_line_that_can_be_written(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    shown.encode()


def test_what_a_terminal_can_show_stays_as_it_is() -> None:
    for text in ("a  b", "é – ∞ 東", "[/x]", "C:\\path", "𝒳"):
        assert printable(text) == text


@given(st.integers(0, 5000))
def test_a_message_of_any_length_keeps_its_ends(length: int) -> None:
    message = str(InputError(f"what is wrong {'x' * length}; what would be right"))
    assert len(message) <= MAX_MESSAGE
    assert message.startswith("what is wrong ")
    assert message.endswith("; what would be right")


def test_an_error_is_the_same_in_another_process() -> None:
    error = InputError("x" * 5000)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own


def test_a_word_of_any_length_finds_no_suggestion_soon() -> None:
    assert suggestion("q" * 400_000, ["q_learning", "random"]) == "choose from: q_learning, random"


def test_not_all_of_very_many_choices_are_named() -> None:
    assert suggestion("x", [f"column {i:03}" for i in range(500)]).endswith(", column 029 and 470 more")
