"""The judge of dataflow: does a program compute what was declared?

``check_flow`` walks the programs of a document in order and compares what every op finds in its
registers, slots and staging copies with what the declaration says it reads; timing is the other
judges' matter. Each declared op must run exactly once an iteration (or a tile), and nothing else.

Why few tile lengths decide all. A register or staging place is written in every iteration of the
kernel list or in none. So after one iteration of it, what every place holds is the same but for
the iteration's number, and the iterations after the second find what the second found, shifted. A
declaration looks ``back`` at most b iterations, so it differs from one iteration to the next only
in the first b. Tiles of ``least`` .. ``least + b + 3`` iterations therefore show everything. Values
of the tile before are never right, whatever its length: two equal tiles of everybody show leaks.
"""

from warploom.verify.flow.judge import check_flow, flow_tiles
from warploom.verify.flow.known import known_flow, op_names
from warploom.verify.flow.uses import check_uses
