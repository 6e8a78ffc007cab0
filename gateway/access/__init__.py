"""Access control: who may do what, decided without a socket.

    signature     what a request is signed with, and whether it is

Standard: the module `auth`.
"""
