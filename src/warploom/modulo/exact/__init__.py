"""CP-SAT: questions, models, and the process that answers them."""
