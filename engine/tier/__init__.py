"""Long retention: ranges of the log kept in an object store, the tier.

- `object_store`: the interface of an object store, in six verbs. `object_folder`: a folder as one.
- `format`: names and bytes of the objects.
- `ranges`: which ranges count, given those of all epochs. `survey` reads them.
- `retention_classes`: times that topics are kept, and topics that share segments.
- `collect`: the records of a range of the log, grouped by topic and queue; `local_log` is that log.
  `rows`: what is needed of plain records.
- `saving`: writes ranges, as one of several writers that may exist. `table_saving`: tables beside the log.
- `expiry`: which segments have expired. `removal`: marks them, and deletes them and orphans later.
- `directory`, `loading`, `parts`, `reading`: messages for readers of a store; `key_search` finds them by key.
- `restoring`: a store made of its tier, after its disk was lost; `restored_log` writes the files of its log,
  `restored_tables` those beside it.
- `checking`: reports what a tier has, and compares all objects with one another.

The functions wait for the object store, so they run on worker threads or in processes of their own.
"""
