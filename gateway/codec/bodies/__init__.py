"""Request and response bodies, one file an area."""
