"""The broker as a replica of a controller, which decides whether it is master or slave."""
