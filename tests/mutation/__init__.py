"""The mutation harness: does the verifier find what really goes wrong, and nothing else?

Schedules are mutated systematically; the numeric executor runs every mutant under adversarial
timings and so decides the truth; the verifier judges it; the two are compared.
Warp-specialised schedules have mutants and a model of their own (``role_mutants``, ``role_score``).
"""

from tests.mutation.harness import Judge, Outcome, Score, Verdict, score, table
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.role_mutants import RoleMutant, role_mutants
from tests.mutation.role_score import RoleOutcome, RoleVerdict, score_roles
from tests.mutation.truth import GroundTruth, decide

__all__ = [
    "GroundTruth",
    "Judge",
    "Mutant",
    "Outcome",
    "RoleMutant",
    "RoleOutcome",
    "RoleVerdict",
    "Score",
    "Verdict",
    "decide",
    "mutants",
    "role_mutants",
    "score",
    "score_roles",
    "table",
]
