"""Numbers as a page writes them, with as many digits as are meaningful."""

import math

from heavytail.errors import show_duration as duration

__all__ = ["duration", "interval", "number", "p_value", "percent", "short_number"]


def number(x: float, digits: int = 4) -> str:
    """Format a number with at most `digits` significant digits.

    >>> [number(x) for x in (351906.4, 0.0312345, -2.41, 12, 1.5e-7, math.nan)]
    ['351,900', '0.03123', '−2.41', '12', '1.5e-7', '–']
    """
    if not math.isfinite(x):
        return "–" if math.isnan(x) else "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    size = math.floor(math.log10(abs(x)))
    if size < -5 or size > 14:
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    else:
        rounded = round(x, digits - 1 - size)
        text = f"{rounded:,.{max(0, digits - 1 - size)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−", 1) if x < 0 else text


def short_number(x: float, digits: int = 3) -> str:
    """Format a number, thousands as k, millions as M and billions as G.

    >>> [short_number(x) for x in (12_345.0, -2e6, 950.0, 0.25)]
    ['12.3k', '−2M', '950', '0.25']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if math.isfinite(x) and abs(x) >= size:
            return f"{number(x / size, digits)}{unit}"
    return number(x, digits)


def interval(estimate: float, low: float, high: float, *, digits: int = 4) -> str:
    """Format an estimate with its interval, if it has one.

    >>> interval(2.0, 1.5, 2.5), interval(2.0, math.nan, math.nan)
    ('2 [1.5, 2.5]', '2')
    """
    text = number(estimate, digits)
    if math.isfinite(low) or math.isfinite(high):
        text += f" [{number(low, digits)}, {number(high, digits)}]"
    return text


def percent(share: float, low: float = math.nan, high: float = math.nan) -> str:
    """Format a share in percent, with its interval.

    >>> percent(0.98765), percent(0.5, 0.4, 0.6)
    ('98.8 %', '50.0 [40.0, 60.0] %')
    """
    if not math.isfinite(share):
        return "–"
    ends = f" [{100 * low:.1f}, {100 * high:.1f}]" if math.isfinite(low) and math.isfinite(high) else ""
    return f"{100 * share:.1f}{ends} %".replace("-", "−")


def p_value(p: float | None) -> str:
    """Format a p-value.

    >>> p_value(0.04321), p_value(0.00001), p_value(None)
    ('0.043', '< 0.0001', '–')
    """
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.001 else f"{p:.3f}"
