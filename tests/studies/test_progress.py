"""What listeners print: words from outside are shown as they are, and break nothing."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.studies import Study, progress
from heavytail.studies.progress import BarListener, PlainListener, choose_listener, make_bars
from support.small_studies import done, small

HOSTILE = "[/x] [bold]\x1b[31m\n[link=https://example.org]"
SAID = {"event": "said", "words": HOSTILE}
DAMAGE = {"event": "damage", "id": "part", "what": HOSTILE}
SHOWN = r"[/x] [bold]\x1b[31m\n[link=https://example.org]"


def test_labels_are_no_markup_beside_bars(tmp_path: Path) -> None:
    out = io.StringIO()
    with make_bars(Console(file=out, width=200)) as bars:
        study = Study(small(agents={"random": {"label": HOSTILE}}), tmp_path)
        listener = BarListener(bars)
        study.run("inline", listener=listener)
        for event in (SAID, DAMAGE):
            listener(event)
    assert out.getvalue().count(SHOWN) >= 3


def test_messages_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    for event in (SAID, DAMAGE):
        PlainListener()(event)
    with choose_listener(as_json=True) as listener:
        listener(SAID)
    plain, damage, as_json = capsys.readouterr().out.splitlines()
    assert plain == SHOWN
    assert damage == f"part part is {SHOWN}, and is done again"
    assert json.loads(as_json) == SAID


def test_a_log_says_now_and_then_how_many_parts_are_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_OF_SILENCE", -1.0)
    Study(small(agents={"random": {}, "q_learning": {}}), tmp_path).run("inline", listener=PlainListener())
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("done")] == [
        f"evaluation: {n} of 4 parts done" for n in range(1, 5)
    ]


def test_a_title_is_no_markup_in_status(tmp_path: Path) -> None:
    folder = done(small(title=HOSTILE, agents={"random": {"label": HOSTILE}}), tmp_path).store.folder
    shown = CliRunner().invoke(app, ["status", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "".join(SHOWN.split()) in "".join(shown.stdout.split())  # on as many lines as it takes
