"""Conversations over connections; Twisted begins here."""
