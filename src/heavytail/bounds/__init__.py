r"""The theorems of Zhuang and Sui (2021) as functions of numbers, and the bounds of the baselines.

Each function takes numbers or arrays and returns a record of the shape they have together.
``constants="paper"`` is the statement as printed, ``"tight"`` (the default) what its proof gives when it is
corrected; each module says what was corrected and why. Terms are kept apart, by their logarithms, since some
numbers have a hundred digits.

>>> from heavytail.bounds import heavy_ucrl2_regret
>>> bound = heavy_ucrl2_regret(1e12, S=2, A=2, diameter=2, reward_range=1, moment=1, epsilon=0.5)
>>> f"{bound.transitions:.1e} + {bound.heavy_tail:.1e} + {bound.lower_order:.1e} = {bound.total:.1e}"
'2.9e+08 + 1.1e+10 + 2.9e+07 = 1.1e+10'
>>> str(bound.rules), bool(bound.vacuous)
('heavy_tail', False)

`bounds_of` puts in what is exactly true of an MDP; ``heavytail bounds ENV`` prints it. A file with
``@register("bound", ...)`` adds a bound to both: see `heavytail.bounds.catalogue`.
"""

from heavytail.bounds.baselines import q_learning_regret, ucbvi_regret, ucrl2_regret
from heavytail.bounds.bound import Bound, SampleSize, Steps
from heavytail.bounds.catalogue import CatalogueEntry, Collection, bounds_at, bounds_of
from heavytail.bounds.changing import changing_regret, restart_schedule
from heavytail.bounds.gap import heavy_tail_condition, heavy_ucrl2_expected_regret, heavy_ucrl2_gap_regret
from heavytail.bounds.heavy_q_learning import heavy_q_learning_regret, learning_rate_constant
from heavytail.bounds.heavy_ucrl2 import estimator_constant, heavy_ucrl2_regret, sequence_constant
from heavytail.bounds.lower import episodic_lower_bound, hard_instance_steps, lower_bound
from heavytail.bounds.plot import draw_bounds
from heavytail.bounds.policies import PolicyFacts, policy_facts
from heavytail.bounds.quantities import Quantities, quantities_of
from heavytail.bounds.sample_sizes import (
    heavy_q_learning_sample_size,
    heavy_ucrl2_sample_size,
    log10_pac_constant,
)

__all__ = [
    "Bound",
    "CatalogueEntry",
    "Collection",
    "PolicyFacts",
    "Quantities",
    "SampleSize",
    "Steps",
    "bounds_at",
    "bounds_of",
    "changing_regret",
    "draw_bounds",
    "episodic_lower_bound",
    "estimator_constant",
    "hard_instance_steps",
    "heavy_q_learning_regret",
    "heavy_q_learning_sample_size",
    "heavy_tail_condition",
    "heavy_ucrl2_expected_regret",
    "heavy_ucrl2_gap_regret",
    "heavy_ucrl2_regret",
    "heavy_ucrl2_sample_size",
    "learning_rate_constant",
    "log10_pac_constant",
    "lower_bound",
    "policy_facts",
    "q_learning_regret",
    "quantities_of",
    "restart_schedule",
    "sequence_constant",
    "ucbvi_regret",
    "ucrl2_regret",
]
