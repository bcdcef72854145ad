"""The page of a study that runs: what it shows, and that it never stops the study."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError
from heavytail.report import watch
from heavytail.report.watch import PAGE, Watch
from heavytail.studies import Study
from heavytail.studies.engines import PartDone
from heavytail.studies.progress import ProgressListener
from heavytail.studies.store import Store
from support.page_reader import Reader, read
from support.small_studies import Notes, small


@pytest.fixture(autouse=True)
def every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page at every event."""
    monkeypatch.setattr(watch, "EVERY", 0.0)
    monkeypatch.setattr(watch, "SHARE", 1e9)


class Stopping(Notes):
    """Interrupts a study when so many parts are done, and keeps the page of that moment."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.left = parts

    def on_part_done(self, event: PartDone) -> None:
        super().on_part_done(event)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def page(folder: Path) -> Reader:
    return read((folder / PAGE).read_text(encoding="utf-8"))


def run(study: Study, then: ProgressListener, page: Store | None = None) -> Watch:
    listener = Watch(study, then, "heavytail resume it", page)
    study.run("inline", listener=listener)
    return listener


def test_it_shows_phases_agents_and_curves_and_then_the_report(tmp_path: Path) -> None:
    study, notes = Study(small(title="A <study>"), tmp_path), Notes()
    listener = run(study, notes)
    shown = page(tmp_path)
    assert "A <study>" in shown.words
    assert "tuning: done; evaluation: 4 of 4 parts." in shown.words
    assert len([1 for tag, name, _ in shown.attributes if (tag, name) == ("polyline", "points")]) == 4
    assert shown.values("data-state") == ["running"]
    assert len(notes.parts) == 8  # the other listener is told everything
    listener.write("finished", at_once=True, report="report.html")
    assert page(tmp_path).values("data-report") == ["report.html"]


def test_what_was_done_before_an_interruption_is_shown_after_it(tmp_path: Path) -> None:
    study = Study(small(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(study, Stopping(6))
    listener = run(Study.open(tmp_path), Notes())
    assert {env: sorted(agents) for env, agents in listener.rates.items()} == {
        "six_arms": ["q_learning", "random"],
        "double_chain": ["q_learning", "random"],
    }


def test_failed_runs_are_counted_and_listed(tmp_path: Path) -> None:
    study = Study(small(agents={"random": {}}), tmp_path)
    listener = run(study, Notes())
    listener.failures = [f"random on six_arms: <error> {i}" for i in range(30)]
    listener.write("running", at_once=True)
    words = page(tmp_path).words
    assert "30 runs failed." in words
    assert "random on six_arms: <error> 19" in words
    assert "<error> 20" not in words


def test_a_page_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, notes = Study(small(), tmp_path), Notes()

    def refuse(*_: Any) -> None:
        raise InputError("the disk is full")

    page = Store(tmp_path)
    monkeypatch.setattr(page, "write_file", refuse)
    run(study, notes, page)
    assert len(notes.parts) == 8
    assert notes.words[-1] == "watch.html is not written any more: the disk is full"
    assert notes.words.count(notes.words[-1]) == 1


def test_pages_are_as_rare_as_they_are_dear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY", 1e6)
    written: list[str] = []
    page = Store(tmp_path)
    monkeypatch.setattr(page, "write_file", lambda name, content: written.append(name))
    run(Study(small(), tmp_path), Notes(), page)
    assert written == [PAGE] * 2  # once for each phase


def test_the_command_ends_in_the_report(tmp_path: Path) -> None:
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(
        'name = "x"\nepisodes = 20\nseeds = 2\n[envs.six_arms]\n[agents.random]\n[agents.ucrl2]\n'
    )
    ran = CliRunner().invoke(app, ["run", str(spec), "-o", str(out), "--engine", "inline", "--watch"])
    assert ran.exit_code == 0, ran.output
    assert f"to watch it, open {out / PAGE} in a browser" in ran.stdout
    assert page(out).values("data-state") == ["finished"]
    assert (out / page(out).values("data-report")[0]).exists()
