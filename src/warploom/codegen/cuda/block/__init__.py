"""The block lowering: any tile kernel with matrix products as one program of all threads of a CTA.

The pipelined lowering (``codegen.cuda.tile``) takes one loop level, tiles of up to 256 columns and
operands of 16 or 8 bits. What it does not take is lowered here: loops inside loops, accumulators
that several warpgroups share by rows or columns, i8 products, computed operands of any type.
Threads execute the operations of the tile IR in order and meet at barriers; operands of products
lie in shared memory, values in registers as accumulators of ``wgmma`` do.
"""

from warploom.codegen.cuda.block.plan import block_plans
from warploom.codegen.cuda.block.writer import emit_block

__all__ = ["block_plans", "emit_block"]
