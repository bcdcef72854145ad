import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

import heavytail as ht
from heavytail.tails import read_rewards
from support.examples import examples

TABLE = pa.table({"s": [2, 10, 2, 2], "a": ["left", "left", None, "left"], "reward": [1.0, 2.0, 3.0, 4.0]})
GROUPS = {("2", ""): [3.0], ("2", "left"): [1.0, 4.0], ("10", "left"): [2.0]}


@pytest.fixture(params=["csv", "parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"log.{request.param}"
    (csv.write_csv if request.param == "csv" else parquet.write_table)(TABLE, path)
    return path


def test_rewards_are_read_in_order_and_by_group(file: Path) -> None:
    assert read_rewards(file)[()].tolist() == [1.0, 2.0, 3.0, 4.0]
    groups = read_rewards(file, by=["s", "a"])
    assert {label: rewards.tolist() for label, rewards in groups.items()} == GROUPS
    assert list(groups) == list(GROUPS)  # numbers by their value
    assert read_rewards(file, "s")[()].tolist() == [2.0, 10.0, 2.0, 2.0]


@examples(20)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.integers(-9, 9)), min_size=1))
def test_groups_are_as_a_dictionary_of_lists_would_have_them(
    rows: list[tuple[int, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    columns = dict(zip(("s", "a", "reward"), zip(*rows, strict=True), strict=True))
    parquet.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)
    expected: dict[tuple[str, str], list[float]] = {}
    for s, a, r in rows:
        expected.setdefault((str(s), a), []).append(float(r))
    found = read_rewards(path, by=["s", "a"])
    assert {label: rewards.tolist() for label, rewards in found.items()} == expected


@pytest.mark.parametrize(
    "values",
    [pa.array([1, 2], pa.int8()), pa.array([True, False]), pa.array([Decimal("1.5"), Decimal("2.5")])],
    ids=["int8", "bool", "decimal"],
)
def test_any_kind_of_numbers_is_read(values: Any, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"reward": values}), tmp_path / "log.parquet")
    assert read_rewards(tmp_path / "log.parquet")[()].dtype == np.float64


def test_categories_and_dates_tell_groups_apart(tmp_path: Path) -> None:
    days = pa.array([date(2020, 1, 1), date(2020, 1, 2)])
    table = pa.table({"day": days, "kind": pa.array(["b", "a"]).dictionary_encode(), "reward": [1, 2]})
    parquet.write_table(table, tmp_path / "log.parquet")
    assert list(read_rewards(tmp_path / "log.parquet", by=["kind", "day"])) == [
        ("a", "2020-01-02"),
        ("b", "2020-01-01"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log is empty; it must be a table as CSV or Parquet"),
        ("reward\n", "column 'reward' has no rows"),
        ("rewards,x\n1,2\n", "log has no column 'reward'; its columns are 'rewards', 'x'"),
        ("reward,reward\n1,2\n", "log has 2 columns 'reward'; rename all but one of them"),
        ("reward\n1\nten\n", "column 'reward' is 'ten' in row 2; it must be numbers"),
        ("reward,x\n1,2\n,3\n", "column 'reward' is empty in row 2; every reward must be a finite number"),
        ("reward\n1\nnan\n", "in row 2; every reward must be a finite number"),
        ("reward\n1\n-inf\n", "column 'reward' is -inf in row 2; every reward must be a finite number"),
        ("reward,x\n1\n", "log is not a valid CSV or Parquet table"),
        ("PAR1 and no more", "log is not a valid CSV or Parquet table"),
        ("\x89PNG\r\n\x1a\n\x00", "log has no column 'reward'"),
    ],
)
def test_what_is_no_table_of_rewards_gets_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(ht.InputError) as error:
        read_rewards(tmp_path / "log")
    assert message in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_without_a_reward_are_left_out_if_asked_for(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"close": [100.0, 101.0, 99.0], "day": ["a", "b", "a"]})
    frame["return"] = frame["close"].pct_change()  # the first day has none
    path = tmp_path / f"prices.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    with pytest.raises(
        ht.InputError, match=r"is empty in row 1; .* leave such rows out, as --skip-empty does"
    ):
        read_rewards(path, "return")
    found = read_rewards(path, "return", by=["day"], skip_empty=True)
    assert {label: len(rewards) for label, rewards in found.items()} == {("a",): 1, ("b",): 1}


def test_numbers_that_are_none_are_empty_too(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"reward": [1.0, math.nan, 2.0]}), tmp_path / "log")
    assert read_rewards(tmp_path / "log", skip_empty=True)[()].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00reward", bytes(range(256)), b"reward\n\xff\xff\n"])
def test_bytes_that_are_no_text_get_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(ht.InputError):
        read_rewards(tmp_path / "log")


def test_folders_and_missing_files_get_one_line(tmp_path: Path) -> None:
    with pytest.raises(ht.InputError, match="is a folder; name one CSV or Parquet file in it"):
        read_rewards(tmp_path)
    with pytest.raises(ht.InputError, match="nothing cannot be read: No such file or directory"):
        read_rewards(tmp_path / "nothing")


@pytest.mark.parametrize("values", [["a", "b"], [[1.0], [2.0]], [date(2020, 1, 1), date(2020, 1, 2)]])
def test_parquet_columns_of_other_kinds_get_one_line(values: list[Any], tmp_path: Path) -> None:
    parquet.write_table(pa.table({"reward": values, "r": [1.0, 2.0]}), tmp_path / "log.parquet")
    with pytest.raises(ht.InputError, match="it must be numbers"):
        read_rewards(tmp_path / "log.parquet")


def test_groups_by_nested_values_get_one_line_or_an_answer(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"reward": [1.0, 2.0], "s": [[1], [2]]}), tmp_path / "log.parquet")
    with pytest.raises(ht.InputError, match="column 's' holds lists"):
        read_rewards(tmp_path / "log.parquet", by=["s"])


def test_a_table_that_fits_no_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(pa.table({"reward": np.zeros(1000)}), tmp_path / "log.parquet")
    monkeypatch.setattr("heavytail.checks.max_memory", lambda: 1000)
    with pytest.raises(ht.InputError, match=r"1,000 rows would take 32\.0 kB of memory"):
        read_rewards(tmp_path / "log.parquet")
