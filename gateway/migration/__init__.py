"""Migration of a cluster's broker groups from one kind of broker to the other, and back, while clients run.

- `plan`: the contents of a plan, and the settings files of its brokers
- `survey`: obstacles of a group, found before anything is changed
- `cluster`: queries to brokers and name servers about a group; nothing is changed
- `handover`: the steps of a group, each of which checks the present state first
- `election`: the steps of a group whose controller elects
- `moves`: all groups of a plan, forward and back, and the check afterwards

Design and reasons: docs/decisions/0050-migration.md.
"""
