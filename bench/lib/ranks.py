"""Rank correlation."""


def spearman(a, b) -> float:
    """Of two lists; ties share their ranks."""
    x, y = _ranks(a), _ranks(b)
    mean = (len(a) - 1) / 2
    top = sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True))
    size = sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y)
    return top / size**0.5 if size else 0.0


def _ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at : end + 1]:
            out[i] = (at + end) / 2
        at = end + 1
    return out
