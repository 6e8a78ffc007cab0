"""Request and response headers, one file an area."""
