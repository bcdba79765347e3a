"""The language as one name: ``from warploom.kernel import language as wl``.

Authors write ``import warploom as wl``; texts inside warploom stand below the door and use this.
"""

from warploom.kernel.text import kernel  # noqa: F401
from warploom.kernel.words import *  # noqa: F403 (every word)
