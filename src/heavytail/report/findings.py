"""What a study found, in at most three sentences, made from its verdicts and its leaderboard.

A claim of the spec may say in its table `found` what each verdict means; then the sentence of the verdict
that was reached is shown. So no sentence can say other than the verdicts do.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heavytail.report.figures.sweep_maps import WORKS, SweepMap
from heavytail.report.leaderboard import Standing
from heavytail.report.number_format import percent
from heavytail.studies.claims import ClaimResult

if TYPE_CHECKING:
    from heavytail.report.report_data import ReportData

MAX_SENTENCES = 3


def tell_findings(data: "ReportData") -> list[str]:
    """Say what was found, and how many claims have which verdict, for a terminal."""
    counts = ", ".join(f"{count} {word}" for word, count in count_verdicts(data.claims).items())
    return [*find_sentences(data), *([f"Claims: {counts}."] if counts else [])]


def find_sentences(data: "ReportData") -> list[str]:
    """Say what was found in a study."""
    return make_findings(data.claims, data.leaderboard, data.sweep_maps, data.spec.statistics.significance)


def make_findings(
    claims: Sequence[ClaimResult],
    leaderboard: Sequence[Standing],
    maps: Sequence[SweepMap],
    significance: float,
) -> list[str]:
    """Say what was found: by the claims that have words for it, else in general."""
    told = [sentence for result in claims if (sentence := result.found)]
    general = [
        *([_describe_maps(maps)] if maps else []),
        *([_describe_leader(leaderboard, significance)] if leaderboard else []),
        *([_describe_breadth(leaderboard[0])] if leaderboard and leaderboard[0].envs > 1 else []),
    ]
    return (told or general)[:MAX_SENTENCES]


def count_verdicts(claims: Sequence[ClaimResult]) -> dict[str, int]:
    """Count the claims of each verdict, in the words of the report; those of which there are none too.

    A study has claims of its own, of a paper, or both.
    """
    kinds = sorted({bool(result.claim.place) for result in claims}, reverse=True)
    words = [word for kind in kinds for word in _words(kind)]
    counted = [result.words for result in claims]
    return {word: counted.count(word) for word in dict.fromkeys([*words, *(["undecided"] if words else [])])}


def _words(of_paper: bool) -> tuple[str, str]:
    return ("reproduced", "not reproduced") if of_paper else ("supported", "not supported")


def _describe_leader(leaderboard: Sequence[Standing], significance: float) -> str:
    first, *others = leaderboard
    share = percent(*map(float, first.share))
    level = [each.label for each in others if each.p_value is not None and each.p_value > significance]
    if not level:
        told = ", and it is significantly better than every other" if others else ""
    else:
        told = f"; to tell {_list_words(level)} from it takes more seeds"
    return f"Best is {first.label}: a run of it beats a run of another agent in {share} of cases{told}."


def _describe_breadth(first: Standing) -> str:
    return f"In {first.level} of {first.envs} environments no agent is significantly better than it."


def _describe_maps(maps: Sequence[SweepMap]) -> str:
    """Say at how many points of the maps agents work."""
    shares = [float(each.works.mean()) for each in maps]
    least, most = percent(min(shares)), percent(max(shares))
    points = f"{least} to {most}" if least != most else most
    return f"At {points} of the points of a map the median run earns at least {WORKS:.0%} of the optimum."


def _list_words(words: Sequence[str]) -> str:
    """List some words.

    >>> _list_words(["a", "b", "c"]), _list_words(["a"])
    ('a, b and c', 'a')
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
