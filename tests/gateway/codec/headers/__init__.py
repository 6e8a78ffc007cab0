"""The headers: what the standard has, and what we pinned."""
