"""Sweeps: an agent at every point of a fine grid, summarised in one small file."""
