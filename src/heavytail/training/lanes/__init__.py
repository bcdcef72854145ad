"""Agents in lanes on a GPU, one run per thread, with the bits of the CPU."""
