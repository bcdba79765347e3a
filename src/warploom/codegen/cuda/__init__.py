"""CUDA C++ for Hopper: emitted from role programs through a lowering table.

``tile`` writes the whole source of a lowered tile kernel: loops, waits and barriers are the
document's entries, each wait with its reason, to read, keep and edit.
"""
