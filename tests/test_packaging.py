"""What a user installs, and the first command of the README."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

import heavytail as ht
from support.processes import run

ROOT = Path(__file__).parent.parent
SMALL_FILES = [*ROOT.glob("studies/*/spec.toml"), *ROOT.glob("studies/*/*.py")]  # of studies


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
        "heavytail/report/templates/page.css",
        "heavytail/report/templates/page.html.j2",
        "heavytail/published/paper-deep/results.parquet",
        *(f"heavytail/published/{file.relative_to(ROOT / 'studies')}" for file in SMALL_FILES),
    } <= names
    assert wheel.stat().st_size < 3_000_000


REPRODUCE = """
import sys
from pathlib import Path
from heavytail.cli import app
from heavytail.studies import published

published.PLACES = (Path(sys.argv.pop(1)),)
app()
"""


SMALLER = {  # in specs: coarse grids, and short runs of small networks
    "paper": {
        "[0.01, 0.03, 0.1, 0.3, 1.0]": "[0.01, 0.1]",
        "[0.0001, 0.001, 0.01, 0.03, 0.1": "[0.001, 0.01",
        '["true", 4.0, 1.0, 0.3]': '["true", 1.0]',
        "seeds = 16": "seeds = 4",
        "resamples = 2000": "resamples = 200",
    },
    "paper-deep": {"steps = 40_000\nseeds = 8": "steps = 6_000\nseeds = 2", "[32, 32]": "[8]"},
}


def smaller_studies(folder: Path) -> Path:
    """The published studies, those of the paper smaller."""
    shutil.copytree(ROOT / "studies", folder, copy_function=os.symlink)
    for name, changes in SMALLER.items():
        spec = folder / name / "spec.toml"
        text = spec.read_text()
        for long, short in changes.items():
            assert long in text
            text = text.replace(long, short)
        spec.unlink()
        spec.write_text(text)
    return folder


def test_the_paper_is_reproduced_quickly(tmp_path: Path) -> None:
    """`heavytail reproduce --quick`, with smaller grids and networks: other sizes differ in numbers only.

    `.ci/run` reproduces the whole quick scale.
    """
    studies = smaller_studies(tmp_path / "studies")
    done = run("-c", REPRODUCE, str(studies), "reproduce", "--quick", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
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


def pins(file: str) -> dict[str, str]:
    return dict(line.lower().split("==") for line in (ROOT / file).read_text().split())


def test_hooks_have_the_versions_of_the_environment() -> None:
    pinned = pins("constraints.txt")
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    hooks = dict(re.findall(r"repo: https://github.com/(\S+)\n +rev: v(\S+)", text))
    assert hooks["astral-sh/ruff-pre-commit"] == pinned["ruff"]
    assert hooks["codespell-project/codespell"] == pinned["codespell"]


def test_the_oldest_libraries_tested_are_the_oldest_admitted() -> None:
    """And the newest tested are the newest admitted, where there is an upper bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = {r.name: r.specifier for r in map(Requirement, project["dependencies"])}
    oldest, newest = pins("constraints-lowest.txt"), pins("constraints.txt")
    for name, bound in bounds.items():
        lower = {s.version for s in bound if s.operator == ">="}
        upper = {s.version for s in bound if s.operator == "<"}
        assert {Version(oldest[name])} == set(map(Version, lower)), name
        assert newest[name] in bound
        assert all(Version(newest[name]).minor + 1 == Version(version).minor for version in upper), name
