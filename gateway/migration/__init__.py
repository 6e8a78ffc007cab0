"""Moving a cluster's broker groups from one kind of broker to the other, and back, while clients go on.

- `plan`: what a plan says, and the files of brokers that go with it
- `survey`: what stands in the way of a group, found before anything is changed
- `cluster`: what brokers and name servers say of a group; nothing is changed
- `handover`: the steps of a group, each of which finds out by itself whether it is done
- `election`: the same where a controller elects
- `moves`: all groups of a plan, forward and back, and the check afterwards

Who does what and why: docs/decisions/0050-migration.md.
"""
