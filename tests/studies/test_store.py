import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import heavytail as ht
from heavytail.errors import InputError
from heavytail.studies import Study
from heavytail.studies.part import RESULTS_VERSION, Part
from heavytail.studies.part_table import SCHEMA, SCHEMA_WITH_KEYS, run_part
from heavytail.studies.store import Store
from support.small_studies import files, small, to_frame


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study that came to its end; not to be changed."""
    study = Study(
        small(), tmp_path_factory.mktemp("stored") / "alpha=1"
    )  # a name that readers of folders take for a column
    study.run("inline")
    return study


def test_any_reader_of_parquet_folders_reads_it(done: Study) -> None:
    """With nothing of heavytail: pandas, and Arrow's datasets, on which most others build."""
    frame = to_frame(done.store.folder)
    table = ds.dataset(done.store.parts).to_table()
    assert list(frame.columns) == table.column_names == SCHEMA_WITH_KEYS.names
    assert len(frame) == table.num_rows == (4 * 2 + 4 * 3) * 10
    assert frame["run"].nunique() == 4 * 2 + 4 * 3
    assert frame["error"].isna().all()
    assert set(frame["phase"]) == {"tuning", "evaluation"}
    own = done.curves()
    theirs = frame[frame["phase"] == "evaluation"]
    merged = own.merge(theirs, on=["run", "at"], suffixes=("", "_read"))
    assert len(merged) == len(own) == len(theirs)
    assert (merged["mean_reward"] == merged["mean_reward_read"]).all()
    assert (merged["regret"] == merged["regret_read"]).all()


def test_a_run_in_a_study_is_the_run_that_a_learner_makes(done: Study) -> None:
    (cell,) = (c for c in done.cells() if (c.agent, c.env) == ("q_learning", "six_arms"))
    part, frame = cell.parts[0], to_frame(done.store.folder)
    mdp = ht.make_mdp("six_arms")
    learner = ht.make_agent(
        mdp,
        "q_learning",
        seed=np.random.SeedSequence(0, spawn_key=(1, 2)),
        planned_steps=60 * 25,
        **cell.point,
    )
    curve = learner.learn(60, checkpoints=10)
    rows = frame[frame["run"] == part.run_id(2)]
    assert (rows["mean_reward"] == curve.mean_reward).all()
    assert (rows["realised_reward"] == curve.realised_reward).all()
    assert (rows["at"] == curve.at).all()
    assert rows["regret"].to_numpy() == pytest.approx(
        ht.planning.optimal_value(mdp) * curve.at - curve.mean_reward, rel=1e-12
    )
    assert [dict(pairs)["cells_visited"] for pairs in rows["counters"]] == curve.counters[
        "cells_visited"
    ].tolist()
    assert json.loads(rows["parameters"].iloc[0]) == learner.parameters


def test_rows_say_what_they_are(done: Study) -> None:
    frame = done.curves("tuning")
    assert set(frame["agent_key"]) == {"q_learning"}
    assert set(frame["env_key"]) == {"six_arms", "double_chain"}
    assert set(frame["point"]) == {'{"transition_scale":0.01}', '{"transition_scale":0.1}'}
    assert all(
        json.loads(p)["transition_scale"] == json.loads(q)["transition_scale"]
        for p, q in zip(frame["parameters"], frame["point"], strict=True)
    )


def test_a_sidecar_says_who_computed_a_part_and_how_fast(done: Study) -> None:
    parts = [part for cell in done.cells() for part in cell.parts]
    for part, page in zip(parts, done.store.sidecars(parts), strict=True):
        assert Part.model_validate(page["part"]) == part
        assert page["seconds"] > 0
        assert page["host"]
        assert page["results_version"] == RESULTS_VERSION["tabular"]
        assert page["bytes"] == (done.store.parts / f"{part.id}.parquet").stat().st_size
        assert {"heavytail", "python", "numpy", "numba", "pyarrow"} <= page.keys()


def test_a_part_knows_its_bytes_and_nothing_of_the_clock(done: Study) -> None:
    part = done.cells()[0].parts[0]
    kept = (done.store.parts / f"{part.id}.parquet").read_bytes()
    assert run_part(part) == kept
    metadata = pq.read_metadata(done.store.parts / f"{part.id}.parquet")
    assert set(metadata.metadata or {}) <= {b"ARROW:schema"}


def test_a_study_opens_from_its_folder(done: Study) -> None:
    opened = Study.open(done.store.folder)
    assert opened.spec == done.spec
    pd.testing.assert_frame_equal(opened.curves(), done.curves())
    before = files(done.store.folder)
    opened.run("inline")
    assert files(done.store.folder) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "study.json cannot be read: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "study.json is damaged: it does not say what the study is"),
        ("{}", "study.json is damaged: it does not say what the study is"),
        ('{"format": 2, "spec": {}}', " has format 2, this version of heavytail reads format 1"),
        ('{"format": 1, "spec": {}}', "study.json: the key name is missing"),
        ('{"format": 1, "spec": 3}', "study.json must be a table of keys, got 3"),
        ("[" * 100_000, "study.json cannot be read: maximum recursion depth exceeded"),
    ],
    ids=range(7),
)
def test_a_damaged_first_page_is_one_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(InputError) as caught:
        Study.open(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        Study(small(), tmp_path).run("inline")
    assert (tmp_path / "study.json").read_text() == content
    assert not (tmp_path / "parts").exists()


def test_resuming_is_advised_only_where_something_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    assert store.advice() == f"continue with: heavytail resume {tmp_path}"
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert store.advice() == f"it cannot continue here, since {tmp_path} cannot be written"
    (tmp_path / "sidecars").write_text("in the way")
    with pytest.raises(InputError) as caught:
        store.write_file("sidecars/x", b"")
    assert str(caught.value).endswith("; nothing was begun; choose another folder with --out")
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        store.write_file("sidecars/x", b"")
    assert str(caught.value).endswith(
        f"; what is done is kept; when it can be, continue with: heavytail resume {tmp_path}"
    )


def test_a_folder_without_a_study_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        Study.open(tmp_path / "none")
    assert str(caught.value) == (
        f"{tmp_path / 'none'} holds no study; start one with: heavytail run SPEC.toml --out"
        f" {tmp_path / 'none'}"
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match="file cannot be made: File exists; choose another folder with --out"
    ):
        Study(small(), tmp_path / "file").run("inline")


def test_what_a_killed_process_was_writing_is_no_result_and_is_removed(tmp_path: Path) -> None:
    study = Study(small(agents={"random": {}}), tmp_path)
    study.run("inline")
    before, rows = files(tmp_path), len(to_frame(tmp_path))
    for left in ("parts/.x.parquet", "sidecars/.x.json", ".study.json"):
        (tmp_path / f"{left}.abc.unfinished").write_bytes(b"half")
    assert len(to_frame(tmp_path)) == rows
    assert study.stages()[-1].missing == []
    assert len(study.curves()) == rows
    with Store(tmp_path).lock():
        pass
    assert files(tmp_path) == before


def test_half_a_study_has_no_curves_and_says_how_much_is_there(tmp_path: Path) -> None:
    study = Study(small(), tmp_path)
    study.store.create(study.spec, {})
    with pytest.raises(InputError) as caught:
        study.curves("tuning")
    assert (
        str(caught.value)
        == f"{tmp_path}: 0 of 4 parts of the tuning are done; continue with: heavytail resume {tmp_path}"
    )


def test_an_empty_table_has_the_columns_of_a_full_one(tmp_path: Path) -> None:
    table: Any = Store(tmp_path).table([])
    assert table.schema == SCHEMA


def test_parts_from_before_they_had_keys_are_read(done: Study, tmp_path: Path) -> None:
    """They are neither done again nor read otherwise, and packed they have keys as well."""
    folder = shutil.copytree(done.store.folder, tmp_path / "old")
    for path in (folder / "parts").iterdir():
        pq.write_table(pq.read_table(path, columns=SCHEMA.names), path)
        sidecar = folder / "sidecars" / f"{path.stem}.json"
        old = json.loads(sidecar.read_text())
        del old["part"]["keys"]
        sidecar.write_text(json.dumps({**old, "sha256": sha256(path.read_bytes()).hexdigest()}))
    study = Study.open(folder)
    assert not any(stage.missing for stage in study.stages())
    pd.testing.assert_frame_equal(study.curves(), done.curves())
    packed = pd.read_parquet(study.pack())
    assert set(packed["agent_key"]) == {"random", "q_learning"}
