"""What every worker needs, imported before workers are forked: it takes longer than many a part."""

import pandas as pd  # noqa: F401 - pyarrow imports it with its first array
import pyarrow.parquet  # noqa: F401 - what a part is written with
import scipy.sparse  # noqa: F401 - what an optimum is found with

import heavytail.studies.engines._worker  # noqa: F401 - all that a part is computed with
