"""Tools for tests of the engine; no module that runs in a server imports them."""
