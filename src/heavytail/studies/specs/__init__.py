"""The spec of a study: its models, how it is read, and what is checked."""
