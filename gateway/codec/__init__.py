"""Bytes to commands and back; pure: no sockets, no time, nothing from above.

    frame.py         cuts frames out of a stream
    command.py       RemotingCommand, and its header as JSON or in the binary ROCKETMQ form
    fields.py        how a header is declared; typed headers out of text fields and back; the registry
    headers/         the header of every request and answer, one file an area
    bodies/          the bodies that are JSON, one file an area
    lenient_json.py  the standard's JSON with bare keys
    codes.py         request and response codes, languages, versions
    errors.py        what can be wrong with what a peer sent
    schema.py        all of the frame in construct: specification, dump, oracle of the tests

The way in: `FrameCutter.feed` gives payloads, `decode_command` commands, `request_header(code).decode` the
typed header, `Body.decode` the body. The way out: `Header.encode` and `Body.encode`, then `encode_response`
for answers or `encode_command` for the rest.
"""
