"""`python -m tests.sim`: clusters under controllers through generated histories; see `runner`."""

from tests.sim.history import PROFILES, History
from tests.sim.runner import command

if __name__ == "__main__":
    command(History, PROFILES)()
