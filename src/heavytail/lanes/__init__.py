"""Lanes: many runs at once, one per thread of a GPU."""
