"""`mqgateway topic`, `group`, `offset` and so on: what the standard's tool lacks, or says in more words.

Each command is declared as those of mqadmin are (`gateway.mqadmin.declaration`), asks servers in the same
way, and has the same flags and exit codes; where mqadmin has a command, the noun's is that one with a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.mqadmin.declaration import Catalogue

PLACES = {
    "topic list": "topics",
    "topic describe": "topics",
    "topic route": "topics",
    "topic create": "topics",
    "topic delete": "topics",
    "group list": "groups",
    "group describe": "groups",
    "group members": "groups",
    "group create": "groups",
    "group delete": "groups",
    "message get": "messages",
    "message find": "messages",
    "dlq list": "dead_letters",
    "dlq replay": "dead_letters",
    "offset show": "offsets",
    "offset reset": "offsets",
    "offset undo": "offsets",
    "offset clone": "offsets",
    "broker list": "brokers",
    "broker status": "brokers",
    "cluster list": "brokers",
    "access users": "access",
    "access policies": "access",
    "timer list": "timers",
    "transaction list": "transactions",
    "transaction resume": "transactions",
    "trace show": "traces",
    "config show": "configuration",
    "config set": "configuration",
    "config diff": "configuration",
    "config explain": "configuration",
    "top": "top",
    "doctor": "doctor",
}
"""Which module has which command, in the order in which they are listed."""

CATALOGUE = Catalogue("mqgateway", __name__, PLACES, name_servers=("127.0.0.1:9876",))

ABOUT = {
    "topic": "Topics: list, describe, route, create, delete.",
    "group": "Consumer groups: list, describe, members, create, delete.",
    "message": "Messages: get by id, find by key, tail, send.",
    "dlq": "Dead letters: list them, send them again.",
    "offset": "Where consumer groups are: show, reset, undo, clone.",
    "broker": "Brokers: list, status.",
    "cluster": "Clusters: list, status.",
    "access": "Access control: users, policies, check.",
    "timer": "Timed messages that wait: list.",
    "transaction": "Transactions: list open ones, ask again.",
    "trace": "What became of a message: show.",
    "config": "Settings of brokers: show, set, diff, explain.",
    "top": "The groups that are furthest behind, live.",
    "doctor": "Why a consumer group is stuck.",
}
"""What each noun is for."""

ELSEWHERE = {
    "message tail": ("tail", "the newest messages of a topic, and those that come"),
    "message send": ("send", "send messages"),
    "cluster status": ("cluster", "who is master, who is in sync, and what is wrong"),
    "access check": ("access", "may a user do something, and by which policy"),
}
"""Commands of nouns that are click's, by the module of `gateway.cli` that has them."""

RUN_SERVERS = frozenset({"broker"})
"""Nouns that run a server when no command of theirs follows."""

FOUND = 5
"""How `doctor` ends when it found why a group is stuck, and `config diff` when there are differences."""


def is_noun(arguments: Sequence[str]) -> bool:
    """Whether a command line is one of these: its first word is a noun, and the two do not run a server or a
    command that is declared elsewhere."""
    noun, pair = "".join(arguments[:1]), " ".join(arguments[:2])
    if noun not in ABOUT or pair in ELSEWHERE:
        return False
    return noun not in RUN_SERVERS or pair in PLACES
