"""Messages given out for a while: pops, acknowledgements, invisible times, and those that wait."""
