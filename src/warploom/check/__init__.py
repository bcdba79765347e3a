"""``check``: race, deadlock and rule checker for PTX and AMDGCN machine code, without a GPU.

It interprets one small launch with values, orders every access by the synchronisation on its path,
and says whether any timing of that launch can go wrong. It shares no code with the code
generators: of warploom it imports ``errors`` and ``report`` only.
"""

from warploom.axioms import AXIOMS, Axiom
from warploom.check.api import check
from warploom.check.launch import Launch, Param, Tensor, TensorMap
from warploom.report import CodeEvent, CodeFinding, CodeReport, Verdict
