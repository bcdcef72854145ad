"""Numbers, actions, states and rewards as short texts."""

import math
from collections.abc import Iterable, Sequence

from heavytail.mdp.diagram.contents import Arrow, MeanReward

MAX_LINES = 4
MAX_MEANS = 6


def format_number(x: float) -> str:
    """Format a number with three digits and a real minus sign.

    >>> [format_number(x) for x in (-0.1, 1.0, 0.99849, 1234567)]
    ['−0.1', '1', '0.998', '1.23e+06']
    """
    return f"{x:.3g}".replace("-", "−", 1) if x < 0 else f"{x:.3g}"


def format_integers(numbers: Iterable[int], prefix: str = "") -> str:
    """List integers, with runs of three and more shortened.

    >>> format_integers([1, 2, 3, 5, 6])
    '1–3, 5, 6'
    """
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    parts: list[str] = []
    for run in runs:
        names = [f"{prefix}{n}" for n in run]
        parts += [f"{names[0]}–{names[-1]}"] if len(run) > 2 else names
    return ", ".join(parts)


def format_actions(actions: Sequence[int], n_actions: int) -> str:
    """List some of the actions.

    >>> [format_actions(some, 6) for some in ([2], [1, 2, 3, 4, 5], [0, 1, 3, 4, 5], [0, 1, 4], range(6))]
    ['a2', 'a1–a5', 'not a2', 'a0, a1, a4', 'any']
    """
    if len(actions) == n_actions:
        return "any"
    text = format_integers(actions, "a")
    missing = sorted(set(range(n_actions)) - set(actions))
    return f"not a{missing[0]}" if len(missing) == 1 and "," in text else text


def format_arrow(arrow: Arrow, n_actions: int) -> str:
    """Return the label of an arrow, which may be empty.

    A single action is shown by the style of its line, and a certain transition needs no number.
    """
    actions = format_actions(arrow.actions, n_actions) if 1 < len(arrow.actions) < n_actions else ""
    probability = "" if arrow.low == arrow.high == 1.0 else format_number(arrow.low)
    if arrow.high > arrow.low:
        probability += f" to {format_number(arrow.high)}"
    return ": ".join(filter(None, (actions, probability)))


def format_rewards(rewards: Sequence[MeanReward], n_actions: int) -> tuple[str, ...]:
    """Return the label of a state: at most four lines, where there are more those of the largest means."""
    best = sorted(rewards, key=lambda r: -r.mean)[: MAX_LINES - 1]
    shown = rewards if len(rewards) <= MAX_LINES else [r for r in rewards if r in best]
    lines = [_format_reward(r, n_actions) for r in shown]
    return (*lines, *([f"and {len(rewards) - len(shown)} less"] if len(shown) < len(rewards) else []))


def _format_reward(reward: MeanReward, n_actions: int) -> str:
    actions = format_actions(reward.actions, n_actions)
    return f"r{'' if actions == 'any' else f'({actions})'} = {format_number(reward.mean)}"


def format_states(states: Sequence[str], limit: int) -> str:
    """Say in which states laws give rewards.

    >>> format_states(["1–3", "5 (a0)"], 2), format_states(["1", "2", "3"], 2)
    ('in states 1–3, 5 (a0)', 'in states 1, 2 and others')
    """
    several = len(states) > 1 or "–" in states[0].split()[0]
    others = " and others" if len(states) > limit else ""
    return f"in state{'s' if several else ''} {', '.join(states[:limit])}{others}"


def format_means(means: Sequence[float]) -> str:
    """List the means of some laws.

    >>> format_means([1.2, 1.4]), format_means([k / 10 for k in range(9)])
    ('means 1.2, 1.4', '9 means, 0 to 0.8')
    """
    if len(means) > MAX_MEANS:
        return f"{len(means)} means, {format_number(means[0])} to {format_number(means[-1])}"
    return f"mean{'s' if len(means) > 1 else ''} {', '.join(map(format_number, means))}"


def format_tail_index(tail_index: float) -> str:
    """Say what a tail index means.

    >>> format_tail_index(1.5), format_tail_index(math.inf)
    ('tail index 1.5, infinite variance', 'all moments finite')
    """
    if tail_index == math.inf:
        return "all moments finite"
    return f"tail index {format_number(tail_index)}" + (", infinite variance" if tail_index <= 2.0 else "")
