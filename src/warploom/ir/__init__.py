"""The kernel module: one frozen value that verifier, interpreter and code generators read.

module = compiled.module            # of warploom.kernels.gemm.gemm.compile("bf16", ...)
print(module)                       # the listing
from_json(to_json(module)) == module
"""

from warploom.ir.listing import listing
from warploom.ir.module import KernelModule
from warploom.ir.serialize import from_json, to_json

__all__ = ["KernelModule", "from_json", "listing", "to_json"]
