"""Ways to run an agent: fused with its environment, one transition at a time, and in lanes on a GPU."""
