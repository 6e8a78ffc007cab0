"""Tables that a broker keeps as JSON files: topics, groups, offsets, and what they have in common."""
