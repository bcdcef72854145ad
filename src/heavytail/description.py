"""Descriptions of things built by name: their parameters, with types, defaults and meanings.

Everything is read from the builder: texts from the ``Args:`` of its docstring, types and defaults from its
signature. So everything registered has a description.
"""

import inspect
import re
import textwrap
import types
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from heavytail.checks import MAX_COUNT, parameter_texts, read_bound
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.registry import FOLDERS, Kind, Registered, registered

WIDTH = 100
NOT_GIVEN = ("problem",)  # parameters that heavytail fills in, not the user
# Other kinds are words already
KINDS = {"env": "environment", "deep_agent": "deep agent", "deep_env": "compiled environment"}
WORDS = {
    float: "number",
    int: "whole number",
    bool: "True or False",
    str: "text",
    tuple: "list",
    dict: "table",
}


class ParameterDescription(NamedTuple):
    """One parameter."""

    name: str
    type: str
    default: str  # empty if required
    text: str


class Description(NamedTuple):
    """A thing that can be built by name; its repr is a page to read."""

    kind: str
    name: str
    about: str
    parameters: tuple[ParameterDescription, ...]

    @property
    def title(self) -> str:
        """The name, and what kind of thing it is."""
        kind = KINDS.get(self.kind, self.kind)
        return f"{self.name}, {'an' if kind[0] in 'aeiou' else 'a'} {kind}"

    def __repr__(self) -> str:
        lines = [self.title, "", self.about]
        for each in self.parameters:
            default = f" = {each.default}" if each.default else ", required"
            text = textwrap.fill(each.text, WIDTH, initial_indent="    ", subsequent_indent="    ")
            lines += ["", f"{each.name}: {each.type}{default}", text]
        return "\n".join(lines)


def describe(name: str, kind: Kind | None = None) -> Description:
    """Describe what is registered under a name, and each of its parameters.

    Args:
        name: of an agent, an environment, a law, an estimator or anything else that is built by name.
        kind: its kind, if several things share the name; by default the first of
            ``heavytail.registry.FOLDERS``.

    >>> import heavytail as ht
    >>> ht.describe("constant")
    constant, a law
    <BLANKLINE>
    Pay `loc` always.
    <BLANKLINE>
    loc: number = 0.0
        what is paid.
    """
    return find_descriptions(name, kind)[0]


def find_descriptions(
    name: str, kind: Kind | None = None, other_names: Iterable[str] = ()
) -> list[Description]:
    """Describe everything with this name, an agent before a bound; an error if there is nothing.

    The error suggests what is registered, or one of `other_names`.
    """
    kinds: Iterable[Kind] = [kind] if kind else FOLDERS
    everything = [entry for each in kinds for entry in registered(each)]
    found = [_describe(entry) for entry in everything if entry.name == name]
    if not found:
        near = suggestion(str(name), {entry.name for entry in everything}.union(other_names))
        raise InputError(f"nothing is registered as {short_repr(name)}; {near}")
    return found


def _describe(entry: Registered) -> Description:
    builder = inspect.unwrap(entry.builder)
    texts, hints = parameter_texts(entry.doc), get_type_hints(builder, include_extras=True)
    parameters = [
        ParameterDescription(
            p.name,
            "the parameters of another" if p.kind is p.VAR_KEYWORD else type_in_words(hints.get(p.name, Any)),
            "" if p.default is p.empty else repr(p.default),
            texts.get(p.name, ""),
        )
        for p in entry.parameters.values()
        if p.name not in NOT_GIVEN
    ]
    return Description(entry.kind, entry.name, summary(entry.doc), tuple(parameters))


def summary(doc: str) -> str:
    r"""Return the part of a docstring before its sections and examples.

    >>> summary("Draw a law.\n\nAnd more.\n\nArgs:\n    mean: of the law.")
    'Draw a law.\n\nAnd more.'
    """
    sections = re.compile(r"^(?:Args:|Returns:|Raises:|Attributes:|>>> )", re.MULTILINE)
    return sections.split(doc, maxsplit=1)[0].strip()


def type_in_words(hint: Any) -> str:
    """Describe the values that an annotation allows.

    >>> from heavytail.checks import MomentOrder
    >>> type_in_words(MomentOrder | None), type_in_words(Literal["hoeffding", "bernstein"])
    ('number above 0 and at most 1, or None', "'hoeffding' or 'bernstein'")
    """
    origin = get_origin(hint)
    if origin is Annotated:
        base, *bounds = get_args(hint)
        known = (b for b in map(read_bound, bounds) if b.limit != MAX_COUNT)
        return f"{type_in_words(base)} {' and '.join(f'{b.words} {b.limit:,}' for b in known)}"
    if origin in (Union, types.UnionType):
        return ", or ".join(type_in_words(each) for each in get_args(hint))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if hint is types.NoneType:
        return "None"
    if hint is Any:
        return "anything"
    return WORDS.get(origin or hint, getattr(hint, "__name__", str(hint)))
