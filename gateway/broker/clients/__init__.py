"""Connected clients: heartbeats, tables of clients, locks of queues, assignments."""
