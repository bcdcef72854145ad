"""The fuzzer finds what it is for. Its targets here are at fault on purpose."""

import re
from argparse import Namespace
from pathlib import Path

import pytest

import fuzz.targets
from _figures import to_markdown, write_table
from fuzz import driver
from fuzz.driver import Tally, run_targets, target_names

TARGETS = {
    "raises": "def try_one(rng): raise KeyError('x')",
    "refuses": "def try_one(rng): raise InputError('no')",
    "refuses_some": "def try_one(rng):\n  if rng.random() < 0.5: raise InputError('no')",
    "takes": "def try_one(rng): np.ones(2**30, np.uint8)",
    "rambles": "def try_one(rng): e = InputError('x'); e.args = ('no ' * 1000,); raise e",
    "crashes": "def try_one(rng): os.kill(os.getpid(), 11)",
    "hangs": "def try_one(rng): time.sleep(60 if rng.random() < 0.5 else 0)",
    "hoards": "def try_one(rng): np.ones(3 * 2**30, np.uint8)",
    "writes": "def try_one(rng): (work / 'in').write_text(''), (work.parent / 'out').write_text('')",
}
HANGING = [0]  # of the first three inputs of that target
HEAD = (
    "import os, time\nimport numpy as np\nfrom heavytail.errors import InputError\nSHARE = 1\nwork = None\n"
)
START = "\ndef start(folder):\n    global work\n    work = folder\n    return try_one\n"


@pytest.fixture
def bad_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put targets into a folder of their own, which children find too: `fuzz.targets` is many folders."""
    folder = tmp_path / "fuzz" / "targets"
    folder.mkdir(parents=True)
    for name, source in TARGETS.items():
        (folder / f"{name}.py").write_text(HEAD + source + START)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(fuzz.targets, "__path__", [*fuzz.targets.__path__, str(folder)])
    monkeypatch.setattr(driver, "MAX_SECONDS", 2.0)


def try_target(name: str, folder: Path, inputs: int = 2) -> Tally:
    given = Namespace(inputs=inputs, seconds=300.0, seed=0, first=0, workers=1)
    [tally] = run_targets([name], given, folder)
    assert tally.tried == inputs
    return tally


def faults(name: str, folder: Path, inputs: int = 2) -> list[tuple[int, str]]:
    return [(fault.number, fault.what) for fault in try_target(name, folder, inputs).faults]


@pytest.mark.usefixtures("bad_targets")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("raises", "KeyError: 'x'"),
        ("rambles", "a message of 3000 characters"),
        ("crashes", "the process died: SIGSEGV"),
        ("hoards", "MemoryError"),
        ("writes", "open outside of the folder: .*/out"),
    ],
)
def test_each_input_that_is_at_fault_is_named(name: str, what: str, tmp_path: Path) -> None:
    found = faults(name, tmp_path)
    assert [number for number, _ in found] == [0, 1]
    assert all(re.search(what, text) for _, text in found)


@pytest.mark.usefixtures("bad_targets")
def test_inputs_after_one_that_hangs_are_tried(tmp_path: Path) -> None:
    found = faults("hangs", tmp_path, inputs=3)
    assert [number for number, _ in found] == HANGING
    assert {text for _, text in found} == {"no answer for 2 s"}


@pytest.mark.usefixtures("bad_targets")
@pytest.mark.parametrize(("name", "answered", "refused"), [("refuses", 0, 3), ("refuses_some", 1, 2)])
def test_one_line_is_an_answer(name: str, answered: int, refused: int, tmp_path: Path) -> None:
    tally = try_target(name, tmp_path, inputs=3)
    assert (tally.answered, tally.refused, tally.faults) == (answered, refused, [])


@pytest.mark.usefixtures("bad_targets")
def test_memory_is_measured(tmp_path: Path) -> None:
    assert 0 <= try_target("refuses", tmp_path).peak < 2**27
    assert 0.99 * 2**30 < try_target("takes", tmp_path).peak < 1.1 * 2**30


def test_a_table_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- table: make x -->\nold\n<!-- end of the table -->\nb\n")
    write_table(page, "make x", to_markdown(("k", "n"), [("c", "1")]))
    table = "| k | n |\n| --- | --: |\n| c | 1 |\n"
    assert page.read_text() == f"a\n<!-- table: make x -->\n{table}<!-- end of the table -->\nb\n"
    with pytest.raises(ValueError, match="has no place for the table of: make y"):
        write_table(page, "make y", table)


def test_targets_are_found() -> None:
    assert {"agent_files", "bombs", "links", "logs"} <= set(target_names())
