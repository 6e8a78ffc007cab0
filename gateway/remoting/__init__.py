"""Conversations over connections; Twisted begins here.

The way of a request, from the socket to the function and back:

    server     ports and connections, their number, their idleness, their end
    handshake  the first bytes: PROXY header (`proxy_header`), TLS (`tls`) or plain
    protocol   one connection: frames cut, served in turns, answered with one write; back-pressure
    transport  a TCP transport that sends at once what nothing waits before
    dispatch   code -> function; every failure becomes a reply there
    call       what a function receives and gives back

The other way, `client` asks other servers over a `link` to each address; a connection is the same at both
ends, and either may ask: `exchange` is the pure part that knows who waits for which answer.
"""
