"""Tests of the coordinator of Kafka's transactions."""
