"""Long retention: ranges of the log kept in an object store, the tier.

- `object_store`: the interface of an object store, in six verbs. `object_folder`: a folder as one.
- `format`: names and bytes of the objects.

The functions wait for the object store, so they run on worker threads or in processes of their own.
"""
