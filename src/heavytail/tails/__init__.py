"""How heavy are the tails? Tail indices with intervals, a robust mean, and advice.

>>> import heavytail as ht
>>> found = ht.tails.diagnose(ht.laws.student_t(df=1.5).sample(100_000, seed=0))
>>> found.need, found.mean_low < 0.0 < found.mean_high
('yes', True)
>>> found.upper.verdict, found.lower.verdict
('heavy', 'heavy')

Printed, a `Diagnosis` says all of it in words; ``to_dict()`` in numbers, ``plot()`` in pictures. From the
shell: ``heavytail diagnose FILE --column reward --by state,action``.
"""

from heavytail.tails.diagnosis import Diagnosis, diagnose
from heavytail.tails.location import RobustMean, robust_mean
from heavytail.tails.reward_table import read_rewards
from heavytail.tails.tail import Tail, hill_index

__all__ = [
    "Diagnosis",
    "RobustMean",
    "Tail",
    "diagnose",
    "hill_index",
    "read_rewards",
    "robust_mean",
]
