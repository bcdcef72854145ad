"""Pages that are made from the code: of everything registered, and of every public name."""

from pathlib import Path

import pytest

import heavytail as ht
from generated_pages import KINDS, api_page, call, catalogue_page, commands_page, write
from heavytail.cli.app import ORDER
from heavytail.registry import Kind

NAMES = [(kind, entry.name) for kind in KINDS for entry in ht.registered(kind) if kind != "env"]


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_a_page_says_how_a_thing_is_made_and_explains_every_parameter(
    kind: Kind, name: str, tmp_path: Path
) -> None:
    (entry,) = (entry for entry in ht.registered(kind) if entry.name == name)
    page = "\n\n".join(catalogue_page(entry, tmp_path))
    assert call(entry).partition("\n")[0] in page
    assert all(f"``{each.name}`` : " in page for each in ht.describe(name, kind).parameters)


@pytest.mark.parametrize("name", ["changing_bandits", "deep_sea", "six_arms"])  # changing, large, small
def test_an_environment_has_its_picture(name: str, tmp_path: Path) -> None:
    (entry,) = (entry for entry in ht.registered("env") if entry.name == name)
    assert f".. figure:: {name}.svg" in "\n".join(catalogue_page(entry, tmp_path))
    assert (tmp_path / f"{name}.svg").stat().st_size > 10_000


def test_what_is_shown_to_make_a_thing_makes_it() -> None:
    for kind in ("agent", "estimator", "env"):
        for entry in ht.registered(kind):
            exec(call(entry), {"ht": ht})  # noqa: S102 - the snippet is ours


def test_a_module_lists_its_public_names() -> None:
    page = "\n".join(api_page("planning"))
    assert all(f"heavytail.planning.{name}" in page for name in ht.planning.__all__)
    assert ".. autoexception:: heavytail.InputError" in "\n".join(api_page("InputError"))


def test_the_page_of_commands_has_each_with_its_options() -> None:
    page = "\n".join(commands_page())
    assert "heavytail show ENV" in page
    assert "``--workers``\n    Parts at a time" in page
    assert all(f"\n{name}\n---" in page for name in ORDER)


def test_a_page_that_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "page.rst"
    write(path, "one", "two")
    before = path.stat().st_mtime_ns
    write(path, "one", "two")
    assert (path.read_text(), path.stat().st_mtime_ns) == ("one\n\ntwo\n", before)
