"""Access control of version 4 (ACL 1.0): accounts with permissions, in files that people write.

    addresses   the forms in which addresses are let in without a signature
    accounts    one account: its keys, and what it may do with which topic and group
    documents   one file of rules: YAML to accounts and addresses, and changed back to YAML
    folder      all those files: which there are, which have changed, how one is replaced
    rules       what the files say together, and what that means for a request
    needs       what each request code needs of an account
    control     stands before every request of a broker, and keeps the rules those of the files
    requests    how accounts are changed and shown by request
    migration   accounts as users and policies of ACL 2.0

`aclEnable` turns it on; ACL 2.0 must be off then. Standard: the module `acl` of versions 4.4 to 5.3.2, in
which "plain" is the name of this kind.
"""
