"""How many examples a property is tried on, and which.

Every run tries the same ones. ``--hypothesis-profile=new``, as in ``make fuzz``, draws others, ten times as
many; what it finds becomes an ``@example``.
"""

from hypothesis import settings

USUAL = 100

settings.register_profile("same", derandomize=True, database=None, deadline=None, max_examples=USUAL)
settings.register_profile("new", database=None, deadline=None, max_examples=10 * USUAL, print_blob=True)


def examples(number: int) -> settings:
    """Try a property on another number of examples than is usual."""
    return settings(max_examples=number * settings().max_examples // USUAL)
