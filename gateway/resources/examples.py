"""Calls of the resource commands, as their help shows them; pure."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "topic list": ("mqgateway topic list", "mqgateway topic list --all --json"),
    "topic describe": ("mqgateway topic describe Orders",),
    "topic route": ("mqgateway topic route Orders",),
    "topic create": (
        "mqgateway topic create Orders -c DefaultCluster -r 8 -w 8",
        "mqgateway topic create Steps -c DefaultCluster -a +message.type=FIFO",
    ),
    "topic delete": ("mqgateway topic delete Orders -c DefaultCluster --dry-run",),
    "group list": ("mqgateway group list",),
    "group describe": ("mqgateway group describe billing",),
    "group members": ("mqgateway group members billing",),
    "group create": ("mqgateway group create billing -c DefaultCluster",),
    "group delete": ("mqgateway group delete billing -c DefaultCluster",),
    "message get": ("mqgateway message get Orders 0A0000025DA2CD48B2D347B7B6B80001",),
    "message find": ("mqgateway message find Orders order-1 --since 2026-01-31T12:00:00",),
    "dlq list": ("mqgateway dlq list", "mqgateway dlq list billing --tag TagA --limit 10"),
    "dlq replay": (
        "mqgateway dlq replay billing --dry-run",
        "mqgateway dlq replay billing --to origin --yes",
    ),
    "offset show": ("mqgateway offset show billing", "mqgateway offset show billing Orders --watch 5"),
    "offset reset": (
        "mqgateway offset reset billing Orders --to 2026-01-31T12:00:00 --dry-run",
        "mqgateway offset reset billing Orders --by -100 --queue broker-a:3 --yes",
    ),
    "offset undo": ("mqgateway offset undo billing Orders --dry-run",),
    "offset clone": ("mqgateway offset clone billing billing-v2 -t Orders",),
    "broker list": ("mqgateway broker list",),
    "broker status": ("mqgateway broker status -b 127.0.0.1:10911",),
    "broker add": (
        "mqgateway broker add broker-a-4",
        "mqgateway broker add broker-a-3 --serve-left",
    ),
    "broker remove": (
        "mqgateway broker remove broker-a-3",
        "mqgateway broker remove broker-a-3 --force --yes",
        "mqgateway broker remove broker-a-3 --cancel",
    ),
    "cluster list": ("mqgateway cluster list",),
    "access users": ("mqgateway access users -b 127.0.0.1:10911",),
    "access policies": ("mqgateway access policies -c DefaultCluster",),
    "timer list": ("mqgateway timer list",),
    "transaction list": ("mqgateway transaction list Orders",),
    "transaction resume": (
        "mqgateway transaction resume 7F00000100002A9F00000000000005CC -b 127.0.0.1:10911",
    ),
    "trace show": ("mqgateway trace show 0A0000025DA2CD48B2D347B7B6B80001",),
    "config show": ("mqgateway config show -b 127.0.0.1:10911",),
    "config set": ("mqgateway config set fileReservedTime 48 -c DefaultCluster",),
    "config diff": ("mqgateway config diff 10.0.0.1:10911 10.0.0.2:10911",),
    "config explain": ("mqgateway config explain flushDiskType",),
    "profile list": ("mqgateway profile list",),
    "profile show": ("mqgateway profile show test",),
    "profile set": (
        "mqgateway profile set test --namesrv 10.0.0.1:9876 --access-key admin --ask-secret-key",
    ),
    "profile use": ("mqgateway profile use test",),
    "profile remove": ("mqgateway profile remove test",),
    "top": ("mqgateway top", "mqgateway top --rows 5 --json"),
    "doctor": ("mqgateway doctor billing", "mqgateway doctor billing --json"),
}
"""By command. A test holds that each command has one, and that each can be parsed."""
