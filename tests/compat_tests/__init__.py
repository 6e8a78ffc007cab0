"""Decisions of the compatibility suite itself, without servers and clients."""
