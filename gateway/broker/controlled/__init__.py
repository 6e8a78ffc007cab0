"""The broker under a controller, which says whether it is master or slave."""
