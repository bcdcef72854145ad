"""`Study` as a whole: words may change, work may not; scores for rliable; the snippets of docs/studies.md."""

import re
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import heavytail as ht
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.specs.reading import make_spec
from support.small_studies import Notes

SPEC: dict[str, Any] = {
    "name": "small",
    "episodes": 60,
    "seeds": 3,
    "tuning": {"seeds": 1, "share": 0.5},
    "envs": {"two": {"env": "two_state", "parameters": {"horizon": 20}}, "chain": {"env": "double_chain"}},
    "agents": {
        "random": {},
        "q_learning": {"grid": {"bonus_scale": [0.01, 0.1]}},
        "here": {"agent": "psrl", "envs": ["two"]},
    },
}


DOCS = Path(__file__).parent.parent.parent / "docs" / "studies.md"


def test_words_may_change_and_work_may_not(tmp_path: Path) -> None:
    ht.Study(SPEC, tmp_path).run("inline")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    condition = {"test": "at_least", "agent": "random", "value": 0.1}
    words = {
        **SPEC,
        "title": "Another",
        "claims": [{"claim": "It plays.", "conditions": [condition]}],
        "statistics": {"confidence": 0.9},
    }
    ht.Study(words, tmp_path).run("inline")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == before
    assert ht.Study.open(tmp_path).spec.claims[0].claim == "It plays."
    with pytest.raises(
        ht.InputError,
        match=r"holds another study: seeds was 3 and is 4\. Nothing was started; .*--reuse .* takes over",
    ):
        ht.Study({**words, "seeds": 4}, tmp_path).run("inline")


@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_other_studies_are_taken_over_where_they_fit(packed: bool, tmp_path: Path) -> None:
    """As if they had been computed here, byte for byte, also where a key of the spec is another."""
    halves: list[Path] = []
    for key, agent in {"first": "random", "q_learning": "q_learning"}.items():
        half = ht.Study({**SPEC, "agents": {key: {**SPEC["agents"][agent], "agent": agent}}}, tmp_path / key)
        half.run("inline")
        halves.append(half.pack() if packed else half.store.folder)
    grown = {**SPEC, "envs": {**SPEC["envs"], "swim": {"env": "river_swim"}}}
    ht.Study(grown, tmp_path / "whole").run("inline")
    notes = Notes()
    ht.Study(grown, tmp_path / "grown").run("inline", reuse=halves, listener=notes)
    assert {(part["agent"], part["env"]) for part in notes.events if part["event"] == "part"} == {
        ("random", "river_swim"),
        ("q_learning", "river_swim"),
        ("psrl", "two_state"),
    }
    for part in (tmp_path / "whole" / "parts").iterdir():
        assert (tmp_path / "grown" / "parts" / part.name).read_bytes() == part.read_bytes()


def test_what_is_no_study_cannot_be_taken_over(tmp_path: Path) -> None:
    with pytest.raises(ht.InputError, match="nothing holds no study"):
        ht.Study(SPEC, tmp_path / "new").run("inline", reuse=[tmp_path / "nothing"])
    assert not (tmp_path / "new").exists()


def test_scores_for_rliable_are_shares_of_the_optimum(tmp_path: Path) -> None:
    study = ht.Study({**SPEC, "agents": {**SPEC["agents"], "optimal": {}}, "episodes": 600}, tmp_path)
    study.run("inline")
    scores = study.to_rliable()
    assert set(scores) == {"random", "q_learning", "optimal"}  # one agent did not run everywhere
    assert all(matrix.shape == (3, 2) for matrix in scores.values())
    assert (scores["random"].mean(axis=0) < scores["optimal"].mean(axis=0)).all()
    np.testing.assert_allclose(scores["optimal"].mean(axis=0), 1.0, atol=0.3)


def test_the_documentation_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its spec runs, at a hundredth of the length, and its snippets of Python and SQL do."""
    text = DOCS.read_text()
    spec, *more = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    raw = {**tomllib.loads(spec), "episodes": 300, "seeds": 2}
    for table in more:
        check_plan(make_spec({**raw, "agents": {"random": {}}, "claims": [], **tomllib.loads(table)}))
    monkeypatch.chdir(tmp_path)
    ht.Study(raw).run("inline")
    Path("spec.toml").write_text(
        re.sub("episodes = .*", "episodes = 300", spec).replace("seeds = 10", "seeds = 2")
    )
    scope: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(snippet, scope)  # noqa: S102 - the snippet is ours
    assert set(scope["frame"]["agent"]) == {"q_learning", "heavy_q_learning", "heavy_psrl"}
    queries = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert queries
    for query in queries:
        rows = duckdb.connect().execute(query).df()
        assert set(rows["agent_key"]) == {"q_learning", "heavy_q_learning", "heavy"}
        assert set(rows["env_key"]) == {"six_arms", "chain"}
        assert rows["regret"].notna().all()
    assert Path("results/mine/report.html").exists()
    assert ht.Study.open("mine.parquet").spec == scope["study"].spec


def test_the_queries_of_the_page_on_maps_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent.parent)
    snippets = re.findall(r"```python\n(.*?)```", DOCS.with_name("maps.md").read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(snippet, {})  # noqa: S102 - the snippet is ours
