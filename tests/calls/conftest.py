"""Most of these tests hand CPU tensors of torch to public calls; ``test_arrays`` needs none."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("torch") is not None:
    collect_ignore = []
else:
    here = Path(__file__).parent
    collect_ignore = [p.name for p in here.glob("test_*.py") if p.name != "test_arrays.py"]
