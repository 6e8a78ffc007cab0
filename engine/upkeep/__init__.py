"""Care for a store that no broker has open: checking all of it, making the derived files anew, figures.

`check` verifies and changes nothing; `rebuild` writes consume queues and index from the log; `stats`
counts. Everything reads through `engine.disk.Disk` and prints nothing.
"""
