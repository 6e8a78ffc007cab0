"""POP: pops, acknowledgements, changes of invisible times, and parked requests."""
