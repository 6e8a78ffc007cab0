"""The message log: commit log, consume queues, index, in the standard's file formats."""
