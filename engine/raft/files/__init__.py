"""A DLedger log on disk, in RocketMQ's format byte for byte.

schema       the formats, in construct
entry        entries and index units, fast
properties   the small files: progress of a member, its term and vote
file_log     the log of a member (`raft.log`)
recovery     the end of such a log when it is opened, and an index that fits
"""
