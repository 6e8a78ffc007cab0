"""What a slave does that acts for its master."""
