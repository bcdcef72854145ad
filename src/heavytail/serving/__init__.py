"""An agent for a loop of one's own: it acts and learns one transition at a time, and is kept in a file."""
