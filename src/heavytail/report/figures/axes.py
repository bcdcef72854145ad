"""Parts shared by all figures: axes in the theme's colours, their scales and ticks, and plain text."""

from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.axis import XAxis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from heavytail.report.figures.figure import Axis
from heavytail.report.number_format import short_number
from heavytail.report.theme import INK, MUTED

FONT = 8.0  # points


def style_axis(drawn: MatplotlibAxis, axis: Axis) -> None:
    """Label an axis, set its scale and its ticks."""
    drawn.set_label_text(plain_text(axis.label), fontsize=FONT, color=INK)
    drawn.set_tick_params(which="both", labelsize=FONT - 0.5, color=MUTED, labelcolor=INK)
    drawn.set_tick_params(length=2.5)
    horizontal = isinstance(drawn, XAxis)
    if axis.log:
        (drawn.axes.set_xscale if horizontal else drawn.axes.set_yscale)("log")
    if axis.limits:
        (drawn.axes.set_xlim if horizontal else drawn.axes.set_ylim)(*axis.limits)
    if axis.ticks:
        drawn.set_ticks(
            [place for place, _ in axis.ticks], labels=[plain_text(text) for _, text in axis.ticks]
        )
        drawn.set_minor_formatter(NullFormatter())
        return
    if axis.log:
        low, high = drawn.get_view_interval()
        drawn.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
        drawn.set_minor_formatter(NullFormatter())
    drawn.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:.3g}%" if axis.percent else short_number(value, 6))
    )


def plain_text(text: str) -> str:
    """Escape text for matplotlib, where a dollar starts mathematics."""
    return text.replace("$", r"\$")
