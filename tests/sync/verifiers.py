"""What the tests hand to ``check_minimal``: the shipped verifier, and the naive one beside it."""

from warploom.verify import verify

from . import naive_verifier


def verified(document):
    """No finding above information, for all trip counts."""
    return not any(f.severity.name != "INFO" for f in verify(document).findings)


def clean(document):
    """Both judges, the naive one for n = 0..6."""
    return verified(document) and naive_verifier.clean(document)
