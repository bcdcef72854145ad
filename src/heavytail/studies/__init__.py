"""Studies: from a spec to results that can be trusted.

``spec.toml`` -> `spec` -> `plan`: runs, packed into parts -> `engines` do them -> `store` keeps them ->
`tune` chooses -> statistics and report. Each arrow is a function from value to value; only the store and the
report touch the disk. `Study` holds it together.
"""

from heavytail.studies.study import Study

__all__ = ["Study"]
