"""Codec of the remoting protocol: no sockets, no clock, no dependency on the layers above.

    frame.py         splits a stream into frames
    command.py       RemotingCommand, and its header as JSON or in the binary ROCKETMQ form
    fields.py        declaration of headers; conversion between text fields and typed headers; the registry
    headers/         the headers of all requests and answers, one file per area
    bodies/          the JSON bodies, one file per area
    lenient_json.py  RocketMQ's JSON with bare keys
    codes.py         request and response codes, languages, versions
    errors.py        errors in input from a peer
    schema.py        the whole frame in construct: specification, dump, test oracle

Decoding: `FrameCutter.feed` returns payloads, `decode_command` commands, `request_header(code).decode` the
typed header, `Body.decode` the body. Encoding: `Header.encode` and `Body.encode`, then `encode_response` for
answers or `encode_command` for other commands.
"""
