"""Object stores by URL: a folder of a file system, S3 and what speaks like it, Google Cloud Storage, Azure.

- `opening`: which store a URL means. `remote`: those behind HTTP, through obstore.
- `self_test`: a store is tried before a writer relies on it.
"""
