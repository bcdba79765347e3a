"""Most of these tests hand CPU tensors of torch to public calls; some need none."""

from importlib.util import find_spec
from pathlib import Path

WITHOUT = ("test_arrays.py", "test_random_calls.py", "test_interleaved.py")
if find_spec("torch") is not None:
    collect_ignore = []
else:
    here = Path(__file__).parent
    collect_ignore = [p.name for p in here.glob("test_*.py") if p.name not in WITHOUT]
