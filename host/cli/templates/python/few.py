"""A guard refuses a rule which was seen on too few inputs."""

LEAST = 5
"""A rule that was seen on fewer inputs may fit them by chance."""


def too_few(inputs):
    """Why so many inputs are too few; None where they are enough.

    Of nothing at all the guard beneath says so itself.
    """
    if inputs == 0 or inputs >= LEAST:
        return None
    return f"the rule was seen on {inputs} inputs, and {LEAST} are the least; record more"
