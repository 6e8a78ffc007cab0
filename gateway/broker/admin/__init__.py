"""What tools ask and change, a file a subject."""
