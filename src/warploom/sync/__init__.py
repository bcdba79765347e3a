"""Room 7, guard: waits and barriers. Reference rules here; proven derivation beside them."""
