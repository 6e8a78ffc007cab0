"""Long retention of a broker: the process that saves its log to an object store, as the broker sees it."""
