"""The findings of a study, in at most three sentences, made from its verdicts and its leaderboard.

A claim of the spec may have a table `found` with a sentence for each verdict; the sentence of the actual
verdict is then shown. So the sentences always agree with the verdicts.
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
    """Write the findings for a terminal, with the number of claims of each verdict."""
    counts = ", ".join(f"{count} {word}" for word, count in count_verdicts(data.claims).items())
    return [*find_sentences(data), *([f"Claims: {counts}."] if counts else [])]


def find_sentences(data: "ReportData") -> list[str]:
    """Write the findings of a study."""
    return make_findings(data.claims, data.leaderboard, data.sweep_maps, data.spec.statistics.significance)


def make_findings(
    claims: Sequence[ClaimResult],
    leaderboard: Sequence[Standing],
    maps: Sequence[SweepMap],
    significance: float,
) -> list[str]:
    """Write findings: from claims that have sentences for them, else in general."""
    told = [sentence for result in claims if (sentence := result.found)]
    general = [
        *([_describe_maps(maps)] if maps else []),
        *([_describe_leader(leaderboard, significance)] if leaderboard else []),
        *([_describe_breadth(leaderboard[0])] if leaderboard and leaderboard[0].envs > 1 else []),
    ]
    return (told or general)[:MAX_SENTENCES]


def count_verdicts(claims: Sequence[ClaimResult]) -> dict[str, int]:
    """Count the claims of each verdict, in the words of the report, including zeros.

    A study has its own claims, those of a paper, or both.
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
    """Write at how many points of the maps agents work."""
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
