"""Lower bounds with proofs: constraint system, longest paths, units, budgets, closure."""
