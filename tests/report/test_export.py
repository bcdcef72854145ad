"""Tables of a study as DataFrames, CSV and LaTeX: the numbers of its curves, and TeX that is whole."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError
from heavytail.report.export import export_tables, make_tables, to_latex
from heavytail.studies import Study
from support.small_studies import done, small

CLAIM = {
    "claim": "100% of $q_learning$ & more",
    "conditions": [{"test": "better", "agent": "q_learning", "than": "random", "metric": "final_regret"}],
}


def heavytail(*arguments: object) -> tuple[int, str, str]:
    ran = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return ran.exit_code, ran.stdout, ran.stderr


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return done(small(claims=[CLAIM]), tmp_path_factory.mktemp("export") / "study")


@pytest.fixture(scope="module")
def tables(study: Study) -> dict[str, pd.DataFrame]:
    return make_tables(study)


def test_results_are_the_medians_of_the_curves(study: Study, tables: dict[str, pd.DataFrame]) -> None:
    curves = study.curves()
    last = curves[curves["at"] == 60].groupby(["env_key", "agent_key"])["regret"].median()
    found = tables["results"].set_index(["env_key", "agent_key"])
    assert found["final_regret"].to_dict() == pytest.approx(last.to_dict())
    assert (found["final_regret_low"] <= found["final_regret"]).all()
    assert (found["runs"] == 3).all()
    assert set(found.loc[("six_arms", "q_learning")].index) >= {
        "parameters",
        "last_tenth",
        "optimum",
        "seconds",
    }
    assert "transition_scale" in found.loc[("six_arms", "q_learning"), "parameters"]


def test_every_other_table_has_what_the_report_shows(study: Study, tables: dict[str, pd.DataFrame]) -> None:
    assert list(tables) == ["results", "curves", "claims", "tests", "tuning"]
    assert study.tables().keys() == tables.keys()
    assert len(tables["curves"]) == 2 * 2 * 10
    assert tables["claims"]["claim"].tolist() == [CLAIM["claim"]]
    assert tables["tests"]["env_key"].tolist() == ["six_arms", "double_chain"]
    tuning = tables["tuning"]
    assert len(tuning) == 2 * 2
    assert tuning["chosen"].sum() == tuning["change_probability"].notna().sum() == 2


def test_the_command_writes_a_file_for_each(study: Study, tmp_path: Path) -> None:
    code, out, _ = heavytail("export", study.store.folder)
    assert code == 0
    assert [Path(line).name for line in out.split()] == [
        f"{name}.csv" for name in ("results", "curves", "claims", "tests", "tuning")
    ]
    read = pd.read_csv(study.store.folder / "tables" / "results.csv")
    assert np.isfinite(read["final_regret"]).all()
    packed = study.pack(tmp_path / "study.parquet")
    code, out, _ = heavytail("export", packed, "--format", "latex", "--out", tmp_path / "tex")
    assert [Path(line).name for line in out.split()] == ["results.tex", "claims.tex", "tuning.tex"]
    code, _, err = heavytail("export", packed, "--format", "latx")
    assert (code, err) == (2, "heavytail: there is no format 'latx'; did you mean 'latex'?\n")


def test_latex_is_balanced_and_escaped(tables: dict[str, pd.DataFrame]) -> None:
    for name in ("results", "claims", "tuning"):
        text = to_latex(tables[name])
        begin, _, heading, *rows, _, end, last = text.split("\n")
        assert (begin[:15], end, last) == (r"\begin{tabular}", r"\end{tabular}", "")
        columns = len(re.findall(r"(?<!\\)&", heading)) + 1
        assert begin.endswith("l" * columns + "}")
        assert all(len(re.findall(r"(?<!\\)&", row)) + 1 == columns for row in rows if row.endswith(r"\\"))
        assert all(len(re.findall(r"(?<!\\)\$", row)) % 2 == 0 for row in rows)
    assert r"100\% of \$q\_learning\$ \& more" in to_latex(tables["claims"])


def test_a_folder_that_cannot_be_written_is_one_line(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written: "):
        export_tables(study, tmp_path / "file" / "tables", "csv")
