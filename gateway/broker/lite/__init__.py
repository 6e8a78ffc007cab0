"""Lite topics: who subscribes to which, and pops of them."""
