"""Random bytes against the doors: what comes out is a value or the one named error."""
