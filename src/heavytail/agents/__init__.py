"""Tabular agents, one algorithm per file: a NamedTuple of arrays and the verbs over it."""
