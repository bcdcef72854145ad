"""Studies: from a spec to results that can be trusted.

``spec.toml`` -> `specs` -> `plan`: runs, packed into parts -> `engines` compute them -> `store` keeps
them -> `tuning` chooses -> `results`, `claims` -> report. Each arrow is a function from value to value; only
the store and the report touch the disk. `Study` ties them together.
"""

from heavytail.studies.study import Study

__all__ = ["Study"]
