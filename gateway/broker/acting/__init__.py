"""Work of a slave that acts for its master."""
