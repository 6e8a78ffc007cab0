"""Histories of whole sets of brokers, many of them, by one command."""
