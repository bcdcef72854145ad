"""A study packed into one file reads as its folder does, for heavytail and for others; it cannot change."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError
from heavytail.studies import Study
from heavytail.studies.packed import to_parquet
from heavytail.studies.part_table import SCHEMA_WITH_KEYS
from heavytail.studies.specs.reading import make_spec
from support.page_reader import read
from support.small_studies import done, files, small

CLAIM = {"claim": "It learns.", "conditions": [{"test": "better", "agent": "q_learning", "than": "random"}]}
SWEEP: dict[str, Any] = {
    "agent": "q_learning",
    "axes": {"transition_scale": [0.1, 1.0], "bonus_scale": [0.01, 0.1, 1.0]},
    "seeds": 2,
    "envs": ["double_chain"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished study with tuning, a claim and a sweep; not to be changed."""
    raw = small(claims=[CLAIM], maps={"plane": SWEEP})
    return done(raw, tmp_path_factory.mktemp("packed") / "study").store.folder


@pytest.fixture(scope="module")
def packed(folder: Path) -> Path:
    """The file in which it is packed; not to be changed."""
    before = files(folder)
    file = Study.open(folder).pack()
    assert files(folder) == before
    return file


def heavytail(*arguments: object) -> tuple[int, str, str]:
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return ran.exit_code, ran.stdout, ran.stderr


def test_it_lies_beside_the_folder_or_where_one_says(folder: Path, packed: Path, tmp_path: Path) -> None:
    assert packed == folder.parent / "study.parquet"
    assert heavytail("pack", folder, "--out", tmp_path / "deep/x.parquet")[:2] == (
        0,
        f"{tmp_path / 'deep/x.parquet'}\n",
    )
    assert (tmp_path / "deep/x.parquet").read_bytes() == packed.read_bytes()
    assert Study.open(packed).pack(tmp_path / "again.parquet").read_bytes() == packed.read_bytes()


def test_everything_reads_as_it_does_from_the_folder(folder: Path, packed: Path) -> None:
    theirs, ours = Study.open(folder), Study.open(packed)
    assert ours.spec == theirs.spec
    assert ours.store.metadata() == theirs.store.metadata()
    assert ours.choices() == theirs.choices()
    assert ours.scores() == theirs.scores()
    assert ours.stages() == theirs.stages()
    assert [len(stage.missing) for stage in ours.stages()] == [0, 0, 0]
    for phase in ("tuning", "evaluation"):
        pd.testing.assert_frame_equal(ours.curves(phase), theirs.curves(phase), check_exact=True)
        parts = [part for cell in ours.cells(phase) for part in cell.parts]
        assert ours.store.sidecars(parts) == [
            {key: value for key, value in sidecar.items() if key not in ("sha256", "bytes")}
            for sidecar in theirs.store.sidecars(parts)
        ]
        assert ours.store.table(parts).equals(theirs.store.table(parts))
        columns = ["run", "regret"]
        assert list(ours.store.columns(parts, columns)) == list(theirs.store.columns(parts, columns))
    assert ours.maps().table.equals(theirs.maps().table)
    assert ours.maps()[1:] == theirs.maps()[1:]
    assert ours.failures().equals(theirs.failures())
    assert {key: value.tolist() for key, value in ours.to_rliable().items()} == {
        key: value.tolist() for key, value in theirs.to_rliable().items()
    }


def test_the_report_has_the_same_bytes(folder: Path, packed: Path, tmp_path: Path) -> None:
    for name, source in (("folder", folder), ("packed", packed)):
        Study.open(source).report(tmp_path / name / "report.html", command="heavytail report")
    assert files(tmp_path / "folder") == files(tmp_path / "packed")


def test_the_commands_read_it(
    folder: Path, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert heavytail("status", packed) == heavytail("status", folder)
    code, path, found = heavytail("report", packed)
    assert (code, path) == (0, "results/small/report.html\n")
    page, sentences = read(Path("results/small/report.html").read_text()), found.splitlines()
    assert sentences
    assert all(sentence in page.words for sentence in sentences if not sentence.startswith("Claims:"))
    assert heavytail("report", packed, "--out", "here.html")[:2] == (0, "here.html\n")


def test_a_folder_with_the_file_stands_for_it(packed: Path, tmp_path: Path) -> None:
    """As those in studies/, beside their specs."""
    shutil.copy(packed, tmp_path / "results.parquet")
    assert Study.open(tmp_path).spec == Study.open(packed).spec
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        Study.open(tmp_path)  # a study of its own comes first


def test_it_cannot_be_run(packed: Path) -> None:
    content = packed.read_bytes()
    code, out, err = heavytail("resume", packed)
    assert (code, out) == (2, "")
    assert err == (
        f"heavytail: {packed} is a packed study, which cannot be run or resumed; run its spec into a folder"
        " with: heavytail run SPEC.toml\n"
    )
    with pytest.raises(InputError, match="is a packed study"):
        Study.open(packed).run("inline")
    assert packed.read_bytes() == content


def test_pandas_polars_and_duckdb_read_it(folder: Path, packed: Path) -> None:
    expected = pd.read_parquet(folder / "parts").query("phase != 'map'").groupby("agent")["regret"].sum()
    frame = pd.read_parquet(packed)
    names = SCHEMA_WITH_KEYS.names
    assert list(frame.columns[: len(names)]) == names
    assert all(name.startswith("sweep_") for name in frame.columns[len(names) :])
    assert frame["phase"].value_counts().to_dict() == {"tuning": 80, "evaluation": 120, "map": 6}
    curves = frame[frame["phase"] != "map"]
    assert curves.groupby("agent")["regret"].sum().to_dict() == pytest.approx(expected.to_dict())
    assert curves.filter(like="sweep_").isna().all(axis=None)

    lazy = pl.scan_parquet(packed).filter(pl.col("phase") != "map").group_by("agent").agg(pl.sum("regret"))
    assert dict(lazy.collect().iter_rows()) == pytest.approx(expected.to_dict())
    medians = pl.read_parquet(packed).filter(phase="map")["sweep_regret_median"].to_list()
    assert medians == Study.open(folder).maps().table["regret_median"].to_pylist()

    rows = duckdb.read_parquet(str(packed)).filter("phase <> 'map'")
    assert dict(rows.aggregate("agent, sum(regret)").fetchall()) == pytest.approx(expected.to_dict())
    visited = rows.filter("agent = 'q_learning'").aggregate("max(counters['cells_visited'])").fetchall()
    assert visited[0][0] > 0


def test_the_rest_of_the_folder_is_in_the_metadata(folder: Path, packed: Path) -> None:
    header = json.loads(pq.read_metadata(packed).metadata[b"heavytail"])
    assert header["study"] == json.loads((folder / "study.json").read_text())
    for part, _, seconds, made in header["parts"]:
        sidecar = json.loads((folder / f"sidecars/{part}.json").read_text())
        assert sidecar.items() >= {**header["made"][made], "seconds": seconds}.items()
    assert header["sweeps"]["command"] == ""


def test_words_may_change_when_it_is_packed_and_work_may_not(
    folder: Path, packed: Path, tmp_path: Path
) -> None:
    spec, file = tmp_path / "spec.toml", tmp_path / "x.parquet"
    changed = Study.open(folder).spec.model_dump(mode="json") | {"title": "Another"}
    Study.open(folder, make_spec(changed)).pack(file)
    assert Study.open(file).spec.title == "Another"
    assert Study.open(file).store.metadata()["spec"] == changed
    pd.testing.assert_frame_equal(Study.open(file).curves(), Study.open(folder).curves())
    spec.write_text('name = "small"\nepisodes = 61\n[envs.six_arms]\n[agents.random]')
    code, _, err = heavytail("pack", packed, "--spec", spec, "--out", tmp_path / "y.parquet")
    assert code == 2
    assert f"{packed} holds another study: episodes was 60 and is 61; " in err
    assert not (tmp_path / "y.parquet").exists()


def test_a_study_without_sweeps_has_the_columns_of_its_parts(tmp_path: Path) -> None:
    study = done(small(agents={"random": {}}), tmp_path / "plain")
    file = study.pack()
    assert pq.read_schema(file).names == SCHEMA_WITH_KEYS.names
    pd.testing.assert_frame_equal(Study.open(file).curves(), study.curves(), check_exact=True)


def test_what_is_not_finished_or_damaged_is_not_packed(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    evaluation = Study.open(copy).cells()[0].parts[0]
    with (copy / f"parts/{evaluation.id}.parquet").open("r+b") as file:
        file.write(b"PARQ")
    code, out, err = heavytail("pack", copy)
    assert (code, out) == (2, "")
    assert err == (
        f"heavytail: {copy}: 3 of 4 parts of the evaluation are done;"
        f" continue with: heavytail resume {copy}\n"
    )
    assert not (tmp_path / "copy.parquet").exists()


def test_a_first_page_that_json_cannot_say_is_one_line(folder: Path, tmp_path: Path) -> None:
    study = Study.open(shutil.copytree(folder, tmp_path / "x"))
    page = json.loads((tmp_path / "x" / "study.json").read_text())
    (tmp_path / "x" / "study.json").write_text(json.dumps({**page, "started_on": float("nan")}))
    with pytest.raises(InputError, match=r"x cannot be packed: ValueError: Out of range float"):
        study.pack()


def test_an_altered_byte_is_one_line_or_changes_nothing(packed: Path, tmp_path: Path) -> None:
    """Some bytes of a Parquet file say nothing that is read: statistics, or who wrote it."""
    content, file, messages = packed.read_bytes(), tmp_path / "x.parquet", list[str]()
    spec, table = Study.open(packed).spec, pq.read_table(packed)
    places = [*range(0, len(content), 97), *range(len(content) - 200, len(content))]
    for place in places:
        altered = bytearray(content)
        altered[place] ^= 0b10
        file.write_bytes(altered)
        try:
            assert Study.open(file).spec == spec
            assert pq.read_table(file).equals(table)
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 0.5 * len(places)
    assert all(each.startswith(f"{file} is not a packed study, or damaged (") for each in messages)
    assert not any("\n" in each for each in messages)


@pytest.mark.parametrize("content", [b"", b"text", b"PAR1", b"PAR1" * 40])
def test_another_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    code, out, err = heavytail("status", tmp_path / "x.parquet")
    assert (code, out) == (2, "")
    assert err.startswith(f"heavytail: {tmp_path / 'x.parquet'} is not a packed study, or damaged (")
    assert err.count("\n") == 1


def test_a_small_file_that_would_take_all_memory_is_refused(packed: Path, tmp_path: Path) -> None:
    table, file = pq.read_table(packed), tmp_path / "x.parquet"
    long = pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int32), pa.array(["x" * (1 << 22)]))
    altered = table.set_column(table.column_names.index("error"), "error", long)
    with pq.ParquetWriter(file, altered.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(altered)
        writer.add_key_value_metadata(table.schema.metadata)
    with pytest.raises(InputError, match="it would take more than 268 MB of memory"):
        Study.open(file)
    header = json.loads(table.schema.metadata[b"heavytail"])
    header["made"] = [dict.fromkeys(map(str, range(1000)), "")]  # which each part would have a copy of
    file.write_bytes(to_parquet(table.replace_schema_metadata(None), header))
    with pytest.raises(InputError, match="it does not say who computed its parts"):
        Study.open(file)


def test_a_spec_in_place_of_a_study_is_told_from_one(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text('name = "x"')
    code, out, err = heavytail("resume", spec)
    message = f"heavytail: {spec} is a spec, not a study; run it with: heavytail run {spec}\n"
    assert (code, out, err) == (2, "", message)


def test_a_part_or_a_table_of_others_is_no_packed_study(folder: Path, tmp_path: Path) -> None:
    part = next((folder / "parts").iterdir())
    with pytest.raises(InputError, match=r"\(it has no header of heavytail\); heavytail pack FOLDER"):
        Study.open(part)
