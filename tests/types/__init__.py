"""Programs that the type checker reads and nobody runs: a line that must be wrong says so to it."""
