"""The results of a study as plain tables: DataFrames, CSV files, LaTeX.

    results    a row for each agent and environment: its parameters, regret and reward, with intervals
    curves     regret and reward along the runs, a row for each checkpoint
    claims     the verdict on each claim
    tests      the tests behind them
    tuning     every point of every grid, and how likely other seeds would choose another

If a number has an interval, ``x_low`` and ``x_high`` stand beside ``x``. LaTeX has one column for the three,
labels instead of keys, and neither curves nor tests, which papers do not print.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heavytail.errors import InputError, short_repr, suggestion
from heavytail.files import make_folder, one_line_write_errors, write_whole
from heavytail.report.number_format import number
from heavytail.report.report_data import ReportData, collect_report_data
from heavytail.report.sections.claims import sentence
from heavytail.report.tables import format_parameters
from heavytail.statistics import Interval
from heavytail.studies.claims import say_verdict
from heavytail.studies.results import Agent, Task, final_regret, final_reward
from heavytail.studies.study import Study

if TYPE_CHECKING:
    import pandas as pd

PRINTED = ("results", "claims", "tuning")  # in LaTeX
SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}
SUFFIXES = {"csv": ".csv", "latex": ".tex"}


def export_tables(study: Study, folder: str | Path, form: str) -> list[Path]:
    """Write the tables of a finished study, a file each.

    Args:
        study: a study with all its parts done.
        folder: the target folder; it is created if needed.
        form: "csv" or "latex".

    Returns:
        The paths of the files.
    """
    if form not in SUFFIXES:
        raise InputError(f"there is no format {short_repr(form)}; {suggestion(form, SUFFIXES)}")
    target, paths = Path(folder), []
    for name, table in make_tables(study).items():
        if form == "latex" and name not in PRINTED:
            continue
        text = to_latex(table) if form == "latex" else table.to_csv(index=False)
        paths.append(target / f"{name}{SUFFIXES[form]}")
        _write(paths[-1], text.encode())
    return paths


def _write(path: Path, content: bytes) -> None:
    with one_line_write_errors(path):
        make_folder(path.parent)
        write_whole(path, lambda out: out.write(content))


def make_tables(study: Study) -> "dict[str, pd.DataFrame]":
    """Make the tables of a finished study, by name; empty tables are left out."""
    import pandas as pd

    data = collect_report_data(study)
    rows = {
        "results": _results(data),
        "curves": _curves(data),
        "claims": _claims(data),
        "tests": _tests(data),
        "tuning": _tuning(data),
    }
    frames = {name: pd.DataFrame(list(each)) for name, each in rows.items()}
    return {name: frame for name, frame in frames.items() if len(frame)}


def _runs(data: ReportData) -> Iterator[tuple[Task, Agent, dict[str, Any]]]:
    """Yield every agent in every environment, with the columns that name them."""
    for task in data.tasks.values():
        for agent in task.agents:
            names = {"env_key": task.key, "environment": task.label}
            yield task, agent, {**names, "agent_key": agent.key, "agent": agent.label}


def _results(data: ReportData) -> Iterator[dict[str, Any]]:
    cells = {(cell.env, cell.agent): cell for cell in data.cells}
    for task, agent, names in _runs(data):
        cell, runs = cells[task.key, agent.key], agent.runs
        known = {name: cell.parameters().get(name) for name in data.spec.agents[agent.key].parameters}
        yield {
            **names,
            "setting": agent.setting,
            "parameters": format_parameters({**known, **cell.point}),
            **_interval("final_regret", task.aggregation.median(final_regret(runs))),
            **_interval("last_tenth", task.aggregation.median(final_reward(runs))),
            "optimum": task.optimum,
            "runs": len(runs.replicates),
            "failed": runs.failed,
            "seconds": data.seconds[agent.key, task.key]["evaluation"],
        }


def _interval(name: str, values: Interval) -> dict[str, float]:
    return {
        name: float(values.estimate),
        f"{name}_low": float(values.low),
        f"{name}_high": float(values.high),
    }


def _curves(data: ReportData) -> Iterator[dict[str, Any]]:
    for _, agent, names in _runs(data):
        for k, at in enumerate(agent.runs.at.tolist()):
            regret, pace = (Interval(*(values[k] for values in each)) for each in (agent.regret, agent.pace))
            yield {**names, "at": at, **_interval("regret", regret), **_interval("reward_rate", pace)}


def _claims(data: ReportData) -> Iterator[dict[str, Any]]:
    for i, result in enumerate(data.claims, 1):
        held = sum(test.verdict == "reproduced" for test in result.tests)
        words = {"number": i, "claim": result.claim.claim, "place": result.claim.place}
        yield {**words, "verdict": result.words, "tests": len(result.tests), "tests_that_hold": held}


def _tests(data: ReportData) -> Iterator[dict[str, Any]]:
    for i, result in enumerate(data.claims, 1):
        for test in result.tests:
            numbers = ("estimate", "low", "high", "bound", "p_value", "adjusted", "runs")
            yield {
                "claim": i,
                "env_key": test.env,
                "test": sentence(test, data.spec, data.tasks[test.env]),
                "method": test.method,
                **{name: getattr(test, name) for name in numbers},
                "verdict": say_verdict(test.verdict, result.claim),
            }


def _tuning(data: ReportData) -> Iterator[dict[str, Any]]:
    reviews = {(grid.agent, grid.env): grid.review for grid in data.grids}
    for score in data.results.scores:
        review = reviews[score.agent, score.env]
        chosen = score.point == review.point
        yield {
            "env_key": score.env,
            "environment": data.tasks[score.env].label,
            "agent_key": score.agent,
            "agent": data.spec.agents[score.agent].label,
            "point": format_parameters(score.point),
            "measure": score.measure,
            "median": score.value,
            "chosen": chosen,
            "change_probability": review.change if chosen else None,
            "remarks": "; ".join(review.remarks()) if chosen else "",
        }


# LaTeX


def to_latex(table: "pd.DataFrame") -> str:
    r"""Write a table as a LaTeX tabular.

    Columns ``x_low`` and ``x_high`` become an interval behind ``x``; keys are left out, since there are
    labels, and so are empty columns.

    >>> import pandas as pd
    >>> row = {"agent": "a_b", "regret": -2.5, "regret_low": -3.0, "regret_high": 0.0}
    >>> print(to_latex(pd.DataFrame([row])))
    \begin{tabular}{ll}
    \toprule
    Agent & Regret \\
    \midrule
    a\_b & $-2.5$ [$-3$, $0$] \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    names = [str(name) for name in table.columns]
    ends = {f"{name}_{end}" for name in names for end in ("low", "high")}
    empty = {name for name in names if table[name].isin(["", None]).all() or table[name].isna().all()}
    shown = [name for name in names if name not in ends | empty and not name.endswith("_key")]
    columns = {name.replace("_", " ").capitalize(): _write_cells(table, name) for name in shown}
    rows = [" & ".join(row) + r" \\" for row in zip(*columns.values(), strict=True)]
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(columns)}}}",
        r"\toprule",
        " & ".join(columns) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _write_cells(table: "pd.DataFrame", name: str) -> list[str]:
    if f"{name}_low" not in table.columns:
        return [_write_cell(value) for value in table[name]]
    values = zip(*(table[f"{name}{end}"] for end in ("", "_low", "_high")), strict=True)
    return [_write_interval(*row) for row in values]


def _write_interval(estimate: float, low: float, high: float) -> str:
    if math.isnan(low) and math.isnan(high):
        return _write_cell(estimate)
    return f"{_write_cell(estimate)} [{_write_cell(low)}, {_write_cell(high)}]"


def _write_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case int() | float():
            return _write_number(float(value))
    return "".join(SPECIAL.get(character, character) for character in str(value))


def _write_number(x: float) -> str:
    r"""Write a number in mathematics.

    >>> [_write_number(x) for x in (351906.4, -2.41, 1.5e-7, math.inf, math.nan)]
    ['$351{,}900$', '$-2.41$', '$1.5 \\times 10^{-7}$', '$\\infty$', '--']
    """
    if math.isnan(x):
        return "--"
    text = number(x).replace("−", "-").replace("∞", r"\infty").replace(",", "{,}")
    mantissa, e, exponent = text.partition("e")
    return f"${mantissa} \\times 10^{{{exponent}}}$" if e else f"${text}$"
