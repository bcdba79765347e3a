"""Random tiny schedules around orders that can be right: some are, most have one defect or more."""

import random

from .documents import document

ORDERS = (
    # one stage: load, read, multiply, load the next
    ("LA[0,0]0 LB[0,0]0", "FA[0,0] FB[0,0] M[0,0] LA[0,0]0 LB[0,0]0", "FA[0,0] FB[0,0] M[0,0]", 1),
    # the same, with the next load in front of the multiplication
    ("LA[0,0]0 LB[0,0]0", "FA[0,0] FB[0,0] LA[0,0]0 LB[0,0]0 M[0,0]", "FA[0,0] FB[0,0] M[0,0]", 1),
    # fragments rotate: they are read one iteration before they are used
    (
        "LA[0,0]0 LB[0,0]0 FA[0,0] FB[0,0]",
        "LA[0,0]0 LB[0,0]0 M[0,0] FA[0,0] FB[0,0]",
        "M[0,0]",
        1,
    ),
    # no loop at all
    ("LA[0,0]0 LB[0,0]0", "", "FA[0,0] FB[0,0] M[0,0]", 1),
    # two stages by turns
    (
        "LA[0,0]0 LB[0,0]0 LA[1,0]1 LB[1,0]1",
        "FA[0,0] FB[0,0] M[0,0] LA[0,0]0 LB[0,0]0 FA[1,0] FB[1,0] M[0,0] LA[1,0]1 LB[1,0]1",
        "FA[0,0] FB[0,0] M[0,0] FA[1,0] FB[1,0] M[0,0]",
        2,
    ),
    # staged: loads fill registers, stores write the slot, the code generator guards registers
    ("LA[0,0] SA[0,0]", "FA[0,0] M[0,0] LA[0,0] SA[0,0]", "FA[0,0] M[0,0]", 1),
    (
        "LA[0,0] SA[0,0] LA[0,0]",
        "FA[0,0] M[0,0] SA[0,0] LA[0,0]",
        "FA[0,0] M[0,0] SA[0,0] X FA[0,0] M[0,0]",
        2,
    ),
)
SYNC = ("B", "B", "W0", "W1", "W2", "L0", "L1", "L2", "W63", "L15")


def random_document(seed, *, double=False):
    """A document; ``double``: with some loads written once more."""
    rng = random.Random(seed)
    order = rng.choice(ORDERS)
    words = (_disturb(rng, text.split()) for text in order[:3])
    prologue, kernel, epilogue = (doubled(rng, w) if double else w for w in words)
    groups = rng.choice((1, 1, 2))
    staged = "S" in order[0]
    protocol = {
        "groups": groups,
        "waves_per_group": 1 if groups == 2 else rng.choice((1, 2, 2)),
        "tail_barriers": (rng.choice((0, 1, 1)), 0) if groups == 2 else (0,),
        "stagger_index": rng.choice((None, 0, 1, 2, len(prologue), len(prologue) + 1)),
        "barrier_after_prologue": rng.random() < 0.5,
        "epilogue_drain": rng.random() < 0.3,
        "k_tiles_per_iteration": 2 if order[3] == 2 and not staged else 1,
        "kernel_k_base": order[3],
    }
    if staged:
        protocol |= _staged_protocol(rng)
    costs = rng.choice(((1, 1), (1, 2), (2, 1), (0, 1)))
    return document(
        " ".join(prologue),
        " ".join(kernel),
        " ".join(epilogue),
        vm=rng.choice(((1, 1), (2, 1))),
        lgkm=costs,
        **protocol,
    )


def doubled(rng, words):
    """Some loads once more, somewhere."""
    words = list(words)
    for _ in range(rng.choice((0, 1, 1, 2))):
        loads = [w for w in words if w[0] == "L" and "[" in w]
        if loads:
            words.insert(rng.randint(0, len(words)), rng.choice(loads))
    return words


def _staged_protocol(rng):
    from warploom.ir import BarrierKind, RegisterWaits

    return {
        "barrier": rng.choice(list(BarrierKind)),
        "register_waits": rng.choice(list(RegisterWaits)),
    }


def _disturb(rng, words):
    """Synchronise densely, then take some of it away again, and sometimes change an operation."""
    dense = rng.random() < 0.6
    out = []
    for word in words:
        if dense and word[0] in "FL" and rng.random() < 0.8:
            out += rng.choice(
                (["W0", "B"], ["L0", "B"], ["L0", "W0", "B"], ["W1", "B"], ["B", "W0"])
            )
        if dense and word[0] in "MS" and rng.random() < 0.9:
            out += rng.choice((["L0"], ["L0", "W0"], ["L1"], ["L0", "B"]))
        out.append(word)
    if dense and rng.random() < 0.5:
        out += ["L0", "W0", "B"]
    for _ in range(rng.choice((0, 0, 1, 2))):
        out.insert(rng.randint(0, len(out)), rng.choice(SYNC))
    for _ in range(rng.choice((0, 0, 0, 1))):
        if out:
            out.pop(rng.randrange(len(out)))
    if len(out) > 1 and rng.random() < 0.25:
        i = rng.randrange(len(out) - 1)
        out[i], out[i + 1] = out[i + 1], out[i]
    if out and rng.random() < 0.12:
        i = rng.randrange(len(out))
        out.insert(rng.randrange(len(out)), out[i])
    return out
