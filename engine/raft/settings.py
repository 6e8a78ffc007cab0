"""Members of a group, and a member's times and limits.

RocketMQ's brokers have these times and limits without options for them. RocketMQ: `DLedgerConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqgateway.engine.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RaftRules:
    """Rules in which a member is stricter than RocketMQ's. All are false for one that behaves like it.

    Each is compatible with official members: it changes this member's guarantees, not its messages.
    """

    commits_own_term: bool = True
    """A leader counts the members with an entry only from the first one of its own term on, and opens its
    term with one; entries before it are committed with it. If older ones were counted, an acknowledged
    entry could be lost (section 5.4.2 of the Raft paper).
    """
    acknowledges_synced: bool = True
    """An entry counts as stored by a member once it is on stable storage there."""
    keeps_matched: bool = True
    """Entries that a follower took of a leader's log are not truncated for an older request of the same
    leader that was in flight meanwhile.
    """
    leads_term_once: bool = True
    """A member that restarts is a candidate in a new term. In the old one it may have led with entries that
    it has lost since, but others have not: there would be two different entries of one index and term.
    """


STANDARD_RULES = RaftRules(
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
    rules: RaftRules = field(default_factory=RaftRules)

    heart_beat_interval: int = 2000
    heart_beat_leak_max: int = 3
    """Intervals without a heartbeat, or without a quorum's answer, after which leadership ends."""
    vote_interval_min: int = 300
    vote_interval_max: int = 1000
    take_over_interval_min: int = 30
    take_over_interval_max: int = 100
    vote_wait: int = 2000
    """Maximum wait for answers to a vote, besides up to `vote_interval_max`."""
    push_timeout: int = 1000
    """Time before an entry is pushed again, and before a follower rejects early entries."""
    request_timeout: int = 3000
    push_pause: int = 500
    """Time before a follower is compared again after an error."""
    commit_interval: int = 1000
    transfer_wait: int = 1000
    transfer_behind_max: int = 1000
    """Maximum lag, in entries, of a leadership-transfer target."""
    preferred_interval: int = 1000
    ack_timeout: int = 2500
    pending_appends_max: int = 10_000
    pending_pushes_max: int = 1000
    pending_bytes_max: int = 32 << 20
    """Limits of what is unanswered in flight to one follower, and of the early entries that it keeps."""
    batch_bytes: int = 4096

    @property
    def leader_patience(self) -> int:
        """Maximum silence of a leader, or time without a quorum."""
        return self.heart_beat_interval * self.heart_beat_leak_max

    @property
    def majority(self) -> int:
        """The number of members that are a majority."""
        return len(self.peers) // 2 + 1

    def is_quorum(self, count: int) -> bool:
        """Return True if this number of members is a majority."""
        return count >= self.majority


def peers_of(text: str) -> dict[str, str]:
    """Return the addresses by id of `n0-10.0.0.1:40911;n1-10.0.0.2:40911`. Raises `ConfigError`."""
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
