"""An agent for your own loop: it acts and learns one transition at a time, and saves to a file."""
