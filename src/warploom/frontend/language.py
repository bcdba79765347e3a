"""The language as one name: ``from warploom.frontend import language as wl``.

Authors write ``import warploom as wl``; kernels inside warploom are below the public API and use
this.
"""

from warploom.frontend.builtins import *  # noqa: F403 (every builtin)
from warploom.frontend.tile_kernel import kernel  # noqa: F401
