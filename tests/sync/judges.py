"""Judges the tests hand to ``check_minimal``: the verifier, and the naive one beside it."""

from . import naive_judge

try:
    from warploom.verify import verify
except ImportError:  # the verifier is a room of its own
    verify = None


def verified(document):
    """No finding above information, for all trip counts."""
    if verify is None:
        return naive_judge.clean(document, range(4))
    return not any(f.severity.name != "INFO" for f in verify(document).findings)


def clean(document):
    """Both judges, the naive one for n = 0..6."""
    return verified(document) and naive_judge.clean(document)
