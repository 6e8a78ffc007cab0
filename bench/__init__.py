"""Side by side with Apache's broker in one run.

`rows` says what is measured, `measure` takes CPU time and memory of a server from the operating
system, `run` drives one row on one server with the official client, `report` makes medians, ratios
and the table. `python -m bench` does all of it, alternating between the two servers.
"""
