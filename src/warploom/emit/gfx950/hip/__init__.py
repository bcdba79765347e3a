"""The same kernel as readable HIP C++, for users who compile with ROCm themselves."""

from warploom.emit.gfx950.hip.check import check_hip, find_hip_compiler
from warploom.emit.gfx950.hip.source import hip_source
