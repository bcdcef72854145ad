"""The spec of a study: models, reading and checks."""
