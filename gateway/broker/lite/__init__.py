"""Lite topics: subscriptions and pops."""
