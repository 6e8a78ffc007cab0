"""Who is connected: heartbeats, tables of clients, locks of queues, assignments."""
