"""Reads of consumers: pulls, long polls, offsets, and queries for messages."""
