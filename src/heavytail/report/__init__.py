"""Reports: figures, tables and one page of the results of studies.

Nothing is imported here, so that matplotlib is loaded only when a figure is drawn.
"""
