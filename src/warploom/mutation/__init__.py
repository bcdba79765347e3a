"""The mutation harness: does the verifier find what really goes wrong, and nothing else?

Schedules are mutated systematically; the numeric executor runs every mutant under adversarial
timings and so decides the truth; the verifier judges it; the two are compared.
"""

from warploom.mutation.harness import Judge, Outcome, Score, Verdict, score, table
from warploom.mutation.mutants import Mutant, mutants
from warploom.mutation.truth import GroundTruth, decide

__all__ = [
    "GroundTruth",
    "Judge",
    "Mutant",
    "Outcome",
    "Score",
    "Verdict",
    "decide",
    "mutants",
    "score",
    "table",
]
