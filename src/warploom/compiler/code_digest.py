"""Digests of this package's own code: part of the key of everything it makes and keeps."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SHAPING = (  # what turns a kernel into code, and what proves it
    "warploom.frontend",
    "warploom.ir",
    "warploom.passes",
    "warploom.modulo",
    "warploom.sync",
    "warploom.targets",
    "warploom.verify",
    "warploom.interp",
    "warploom.codegen.cuda",
)
EXECUTING = ("warploom.frontend", "warploom.ir", "warploom.interp", "warploom.check")
CHOOSING = (
    "warploom.kernels",
    "warploom.compiler",
    "warploom.runtime",
)  # which configuration is taken
RANKING = frozenset(
    {"heuristics.py", "cost_model.py"}
)  # which one, and nothing of what becomes of it


@cache
def fingerprint(*packages: str, ranking: bool = False) -> str:
    """A digest of the code of these packages (those that shape code); of ranking where asked."""
    whole = hashlib.sha256()
    for package in packages or SHAPING:
        spec = find_spec(package)
        assert spec is not None, f"no package {package}"
        assert spec.submodule_search_locations, f"{package} is no package"
        for root in spec.submodule_search_locations:
            for path in sorted(Path(root).rglob("*.py")):
                if ranking or path.name not in RANKING:
                    whole.update(f"{path.relative_to(root).as_posix()}\0".encode())
                    whole.update(path.read_bytes())
    return whole.hexdigest()
