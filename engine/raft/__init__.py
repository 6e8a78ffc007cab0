"""Raft within a broker group, as the standard's DLedger has it: no socket is known here, and no clock.

log       what a member keeps: entries, term and vote; and what keeps them must be able to do
"""
