"""Access control of version 4 (ACL 1.0): accounts with permissions, in files that people write.

    addresses   the forms of addresses that need no signature
    accounts    one account: its keys, and its permissions on topics and groups
    documents   one file of rules: YAML to accounts and addresses, and changed back to YAML
    folder      all those files: listing, changes, replacement
    rules       the files together, and their decision on a request
    needs       permissions that each request code needs
    control     checks every request of a broker by the rules of the files
    keeper      the rules in force, kept up to date with the files
    requests    requests that change and show accounts
    migration   accounts as users and policies of ACL 2.0

`aclEnable` turns it on; ACL 2.0 must be off then. RocketMQ: the module `acl` of versions 4.4 to 5.3.2, in
which "plain" is the name of this kind.
"""
