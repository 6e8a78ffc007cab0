"""Long retention: ranges of the log kept in an object store.

- `object_store`: the interface of an object store, in six verbs. `object_folder`: a folder as one.
"""
