"""Exact order search: a flattened problem, a completion test with memory, and the optimum by it.

Input is a ``LoopBody`` with its constraints, output the best makespan, then the lowest register
peak, then the lexicographically first order that has both. Everything is deterministic; effort is
counted in placed ops, never in seconds.
"""
