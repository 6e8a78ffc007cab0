"""Lite topics: many small queues under one parent topic, each read in order by who subscribes to it."""
