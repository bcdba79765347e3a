"""From a schedule document to LLVM IR text, entry by entry through a lowering table."""
