"""Servers, client programs, commands, and requests by hand, for the scenarios."""
