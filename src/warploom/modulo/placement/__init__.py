"""The heuristic: reservation tables as bit sets, windows, ejection."""
