"""Agents in lanes on a GPU: one run per thread, bit-identical to the CPU."""
