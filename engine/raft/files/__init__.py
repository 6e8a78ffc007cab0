"""A DLedger log on disk, byte for byte as the standard's.

schema       the formats, in construct
entry        entries and index units, fast
properties   the small files: how far a member is, its term and vote
file_log     the log that a member of a group is handed (`raft.log`)
recovery     where such a log ends when it is opened, and an index that fits
"""
