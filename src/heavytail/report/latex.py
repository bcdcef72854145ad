"""Tables as LaTeX with booktabs: numbers in mathematics, an interval in brackets behind its number."""

import math
from typing import TYPE_CHECKING, Any

from heavytail.report.number_format import number

if TYPE_CHECKING:
    import pandas as pd

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
}


def to_latex(table: "pd.DataFrame") -> str:
    r"""Write a table as a LaTeX tabular.

    Columns ``x_low`` and ``x_high`` become an interval behind ``x``; keys are left out, since there are
    labels, and so are columns in which nothing stands.

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
    columns = {name.replace("_", " ").capitalize(): _cells(table, name) for name in shown}
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


def _cells(table: "pd.DataFrame", name: str) -> list[str]:
    if f"{name}_low" not in table.columns:
        return [_cell(value) for value in table[name]]
    values = zip(*(table[f"{name}{end}"] for end in ("", "_low", "_high")), strict=True)
    return [_interval(*row) for row in values]


def _interval(estimate: float, low: float, high: float) -> str:
    if math.isnan(low) and math.isnan(high):
        return _cell(estimate)
    return f"{_cell(estimate)} [{_cell(low)}, {_cell(high)}]"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case int() | float():
            return _number(float(value))
    return "".join(SPECIAL.get(character, character) for character in str(value))


def _number(x: float) -> str:
    r"""Write a number in mathematics.

    >>> [_number(x) for x in (351906.4, -2.41, 1.5e-7, math.inf, math.nan)]
    ['$351{,}900$', '$-2.41$', '$1.5 \\times 10^{-7}$', '$\\infty$', '--']
    """
    if math.isnan(x):
        return "--"
    text = number(x).replace("−", "-").replace("∞", r"\infty").replace(",", "{,}")
    mantissa, e, exponent = text.partition("e")
    return f"${mantissa} \\times 10^{{{exponent}}}$" if e else f"${text}$"
