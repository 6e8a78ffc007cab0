"""Transactions: their ends, and the questions to producers about those that are open."""
