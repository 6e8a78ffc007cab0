"""The broker as a member of a DLedger group, which keeps its log and elects the master."""
