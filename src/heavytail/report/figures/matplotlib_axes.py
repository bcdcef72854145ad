"""What all figures for papers share: axes without a frame, their scales and ticks, and plain text."""

from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from heavytail.report.figures.figure import Axis
from heavytail.report.number_format import short_number

FONT, SMALL_FONT = 8.0, 7.5  # points: of curves, and of tiles


def style_axes(axes: Axes, x: Axis, y: Axis) -> None:
    """Label both axes, set their scales, and leave out the frame."""
    axes.set_xlabel(plain_text(x.label), fontsize=FONT)
    axes.set_ylabel(plain_text(y.label), fontsize=FONT)
    if x.log:
        axes.set_xscale("log")
    if y.log:
        axes.set_yscale("log")
    if x.limits:
        axes.set_xlim(*x.limits)
    if y.limits:
        axes.set_ylim(*y.limits)
    _style_ticks(axes.xaxis, x)
    _style_ticks(axes.yaxis, y)
    axes.tick_params(which="both", labelsize=FONT - 0.5)
    axes.tick_params(length=2.5)
    axes.spines[["top", "right"]].set_visible(False)


def _style_ticks(drawn: MatplotlibAxis, axis: Axis) -> None:
    if axis.ticks:
        drawn.set_ticks([place for place, _ in axis.ticks], [plain_text(words) for _, words in axis.ticks])
    elif axis.percent:
        if axis.log:
            drawn.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            drawn.set_minor_formatter(NullFormatter())
        drawn.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))
    elif not axis.log:
        drawn.set_major_formatter(FuncFormatter(lambda value, _: short_number(value, 6)))


def plain_text(text: str) -> str:
    """Text as it is: a dollar starts mathematics in matplotlib."""
    return text.replace("$", r"\$")
