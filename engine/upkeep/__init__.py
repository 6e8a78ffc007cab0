"""Maintenance of a store that no broker has open: check, rebuild of derived files, statistics.

`check` verifies and changes nothing; `rebuild` writes consume queues and index from the log; `stats` counts.
Everything reads through `engine.disk.Disk` and prints nothing.
"""
