"""What the reference says of synchronisation: its rules, and the policy that replaces them."""
