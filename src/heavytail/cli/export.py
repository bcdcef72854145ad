"""The command ``heavytail export``."""

from pathlib import Path
from typing import Annotated

import typer

from heavytail.cli.app import app, one_line_errors


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The study's folder, or the file it is packed in.")],
    *,
    form: Annotated[str, typer.Option("--format", help="csv, or latex for a paper.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write to; `tables` beside the report if left out."),
    ] = None,
) -> None:
    """Write the tables of a finished study as CSV or LaTeX: results, curves, claims, tests, tuning."""
    from heavytail.report.export import export_tables  # here, because most commands do without
    from heavytail.studies.study import Study

    with one_line_errors():
        study = Study.open(folder)
        target = out or study.store.report_path(study.spec.name).with_name("tables")
        for path in export_tables(study, target, form):
            typer.echo(str(path))
