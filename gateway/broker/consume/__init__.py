"""What consumers read: pulls and those that wait, offsets, and queries for messages."""
