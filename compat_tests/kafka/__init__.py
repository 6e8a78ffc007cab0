"""Kafka's clients and commands against two servers: Apache Kafka, and ours."""
