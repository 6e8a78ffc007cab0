"""How a group is made up, and a member's times and limits.

The standard's brokers have these times and limits and no options for them. Standard: `DLedgerConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqgateway.engine.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Rules:
    """In what a member is more careful than the standard's. All are false for one that is just like it.

    Each is compatible with official members: it changes what this member promises, not what it says.
    """

    commits_own_term: bool = True
    """A leader counts who has an entry only from the first one of its own term on, and opens its term with
    one; entries before it are committed with it. By counting older ones an acknowledged entry can be lost
    (section 5.4.2 of the Raft paper)."""
    acknowledges_synced: bool = True
    """An entry counts as had by a member once it is on stable storage there."""
    keeps_matched: bool = True
    """What a follower took of a leader's log is not cut for an older request of the same leader, that was on
    its way meanwhile."""
    leads_term_once: bool = True
    """Who starts again stands for election in a new term. In the old one it may have led with entries that it
    has lost since, but others have not: they would have two different ones of one index and term."""


STANDARD_RULES = Rules(
    commits_own_term=False, acknowledges_synced=False, keeps_matched=False, leads_term_once=False
)


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """A member of a group; all times are in ms."""

    group: str
    self_id: str
    peers: Mapping[str, str]
    """Addresses (`host:port`) by id, this member's among them."""
    preferred_leaders: tuple[str, ...] = ()
    batch_push: bool = False
    rules: Rules = field(default_factory=Rules)

    heart_beat_interval: int = 2000
    heart_beat_leak_max: int = 3
    """After so many intervals without a heart beat, or without a quorum's answer, leadership ends."""
    vote_interval_min: int = 300
    vote_interval_max: int = 1000
    take_over_interval_min: int = 30
    take_over_interval_max: int = 100
    vote_wait: int = 2000
    """How long answers to a vote are waited for at most, besides up to `vote_interval_max`."""
    push_timeout: int = 1000
    """When an entry is pushed again, and when a follower gives up waiting for the ones before."""
    request_timeout: int = 3000
    push_pause: int = 500
    """Before a follower is compared with again, after something went wrong."""
    commit_interval: int = 1000
    transfer_wait: int = 1000
    transfer_behind_max: int = 1000
    """Entries: who is so far behind takes no leadership over."""
    preferred_interval: int = 1000
    ack_timeout: int = 2500
    pending_appends_max: int = 10_000
    pending_pushes_max: int = 1000
    pending_bytes_max: int = 32 << 20
    """What is on its way to one follower, unanswered; what a follower keeps that came too early."""
    batch_bytes: int = 4096

    @property
    def leader_patience(self) -> int:
        """How long a leader may be silent, or be without a quorum."""
        return self.heart_beat_interval * self.heart_beat_leak_max

    def is_quorum(self, count: int) -> bool:
        """Whether so many members are a majority."""
        return count >= len(self.peers) // 2 + 1


def peers_of(text: str) -> dict[str, str]:
    """Addresses by id of `n0-10.0.0.1:40911;n1-10.0.0.2:40911`. Raises `ConfigError`."""
    peers: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        member_id, _, address = part.partition("-")
        host, _, port = address.rpartition(":")
        if not (member_id and host and port.isdecimal() and 0 < int(port) < 65536):
            raise ConfigError(f"{part} is not a member of a group; write it as n0-10.0.0.1:40911")
        if member_id in peers:
            raise ConfigError(f"the id {member_id} occurs twice in {text}")
        peers[member_id] = address
    return peers
