"""Ways to run an agent: fused with its environment, on a Gymnasium environment, and in lanes on a GPU."""
