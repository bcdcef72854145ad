"""What models of the reward believe along a run: mean reward, scale of residuals, share of outliers."""

from heavytail.registry import register
from heavytail.report.figures.curves import along_run
from heavytail.report.figures.figure import Axis, Figure, Styles
from heavytail.studies.results import Task


@register("figure", "predicted")
def predicted(task: Task, styles: Styles) -> Figure | None:
    """The mean of predicted rewards."""
    caption = "Mean reward that models of the reward predict for what they have seen"
    return _belief(task, styles, "predicted_reward", "Predicted reward", caption, Axis("predicted reward"))


@register("figure", "residuals")
def residuals(task: Task, styles: Styles) -> Figure | None:
    """The scale of residuals."""
    caption = "Median distance of rewards from what models of the reward predict"
    return _belief(task, styles, "residual_scale", "Scale of residuals", caption, Axis("median |residual|"))


@register("figure", "outliers")
def outliers(task: Task, styles: Styles) -> Figure | None:
    """The share of outliers, which says how heavy tails are."""
    caption = "Rewards that are more than ten times that far from what is predicted; none if noise is normal"
    y = Axis("share of rewards", percent=True)
    return _belief(task, styles, "outlier_share", "Outliers", caption, y)


def _belief(task: Task, styles: Styles, name: str, title: str, caption: str, y: Axis) -> Figure | None:
    agents = [agent for agent in task.agents if name in agent.runs.counters]
    if not agents:
        return None
    caption += f": median over seeds with its {task.aggregation.confidence:.0%} bootstrap interval."
    content = along_run(
        task._replace(agents=agents),
        styles,
        lambda agent: task.aggregation.median(agent.runs.counters[name]),
        y,
    )
    return Figure(title, caption, content, order=8)
