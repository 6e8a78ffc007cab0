"""The tier: ranges of the log in an object store, for longer than on the local disk.

- `format`: names and bytes of the objects.
- `ranges`: which ranges count, given those of all epochs.
- `collect`: the records of a range of the log, grouped by topic and queue.
- `saving`: writes ranges, as one of several writers that may exist.
- `checking`: compares all objects with one another.

The functions wait for the object store, so they run on worker threads or in processes of their own.
"""
