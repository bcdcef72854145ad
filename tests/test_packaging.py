"""What a user installs, and the first command of the README."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import heavytail as ht

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_what_is_not_python(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("heavytail-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "heavytail/py.typed",
        "heavytail/report/page.css",
        "heavytail/report/page.js",
        "heavytail/published/paper/spec.toml",
        "heavytail/published/paper-deep/results.parquet",
    } <= names
    assert wheel.stat().st_size < 3_000_000


def test_the_paper_is_reproduced_quickly(tmp_path: Path) -> None:
    """`make reproduce ARGS=--quick`, as the README says; the full length differs in numbers only."""
    command = [sys.executable, "-c", "from heavytail.cli import app; app()", "reproduce", "--quick", "--json"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last == {
        "event": "finished",
        "folder": "results/paper-quick",
        "report": "results/paper-quick/report.html",
        "failed": 0,
    }
    study = ht.Study.open(tmp_path / "results/paper-quick")
    assert {*study.to_rliable()} == {*study.spec.agents}
    page = (tmp_path / last["report"]).read_text()
    assert all(claim.claim in page for claim in study.spec.claims)
    shares = {agent: float(scores.mean()) for agent, scores in study.to_rliable().items()}
    assert shares["random"] < shares["ucrl2_heavy"] < shares["heavy_ucrl2"]
