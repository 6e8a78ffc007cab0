"""Authentication of Kafka clients by SASL.

    session         one connection: its state, the requests of authentication, its user, its lifetime
    authentication  what the sessions of a server share: mechanisms, delays, lifetimes
    exchange        the interface between both and the mechanisms
    certificates    users by client certificate, without SASL
    plain           the mechanism PLAIN
    scram           messages of SCRAM, pure
    scram_exchange  the mechanisms SCRAM-SHA-256 and SCRAM-SHA-512, which check scram_credentials

    oauthbearer     the mechanism OAUTHBEARER, whose access_tokens have token_claims, and are checked with the
                    key_set that published_keys reads
    token_settings  access tokens of a server by its settings

Users and passwords are those of access control. Standard: KIP-12, KIP-43, KIP-152, KIP-368.
"""
