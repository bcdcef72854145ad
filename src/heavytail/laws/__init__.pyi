# Made by `make stubs`.

from heavytail.laws.alpha_stable import alpha_stable as alpha_stable
from heavytail.laws.bernoulli import bernoulli as bernoulli
from heavytail.laws.constant import constant as constant
from heavytail.laws.empirical import empirical as empirical
from heavytail.laws.law import Law as Law
from heavytail.laws.log_normal import log_normal as log_normal
from heavytail.laws.normal import normal as normal
from heavytail.laws.pareto import pareto as pareto
from heavytail.laws.student_t import student_t as student_t
