"""Names and bytes of the objects in a tier ([A, B) is a range of the log, in bytes).

    CLUSTER/BROKER/epochs/EPOCH                                     where an epoch begins (`epochs`)
    CLUSTER/BROKER/data/EPOCH/A-DAYS-NUMBER-WRITER.seg              records (`segment`)
    CLUSTER/BROKER/ranges/EPOCH/A.idx                               the commit point of [A, B) (`index`)
    CLUSTER/BROKER/tables/EPOCH/TIME.tables                         topics, groups, offsets ... (`tables`)

All objects are created once and never changed. Records are stored byte for byte as in the log, so that their
message ids stay valid. Integers are big-endian. Bytes that are read are checked: by a checksum, and every
length and position in them by its bounds.
"""
