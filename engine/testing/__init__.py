"""What tests of the engine are made with; nothing that runs in a server imports it."""
