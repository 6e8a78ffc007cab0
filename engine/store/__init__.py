"""The message log: commit log, consume queues and index, in RocketMQ's file formats."""
