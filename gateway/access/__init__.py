"""Access control: who may do what, decided without a socket.

    signature       what a request is signed with, and whether it is
    users           who there is
    policies        what each may do with which resource, from where
    operations      Kafka's operations, and which imply others
    bindings        Kafka's access control lists over policies
    decisions       whether one may do something, and which entry says so
    resources       what each request code needs: which resources, which actions
    tables          users and policies as they are kept; `encryption` encrypts secrets in files
    settings        what the options mean
    control         stands before every request of a broker, as a hook and in front of functions that
                    read bodies; `memory` is what a stateful strategy keeps, `audit` what the log says,
                    `changes` which requests it tells of because they change something
    administration  how users and policies are changed and shown

Standard: the module `auth`.
"""
