"""Scripts of developers: the test command, builds and wheels."""
