"""Programs for the type checker that never run: a line that must be wrong carries a comment for it."""
