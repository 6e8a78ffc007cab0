"""Transactions: their ends, and checks of open ones with their producers."""
