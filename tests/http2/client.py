"""What raw frames do not show: fields, as Python's h2 decodes them."""

import socket
import sys

import h2.config
import h2.connection
import h2.events


def ask(path, headers=(), body=None):
    """One request on a connection of its own; returns what came: interim heads, head, body, trailers."""
    sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    method = "POST" if body else "GET"
    fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a.example"), *headers]
    connection.send_headers(1, fields, end_stream=body is None)
    if body:
        connection.send_data(1, body, end_stream=True)
    sock.sendall(connection.data_to_send())
    interim, head, data, trailers = [], None, b"", None
    while True:
        received = sock.recv(65536)
        assert received, "closed too soon"
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.InformationalResponseReceived):
                interim.append(event.headers)
            elif isinstance(event, h2.events.ResponseReceived):
                head = event.headers
            elif isinstance(event, h2.events.DataReceived):
                data += event.data
            elif isinstance(event, h2.events.TrailersReceived):
                trailers = event.headers
            elif isinstance(event, h2.events.StreamReset):
                raise AssertionError(event)
            elif isinstance(event, h2.events.StreamEnded):
                return interim, head, data, trailers
        sock.sendall(connection.data_to_send())


_, head, data, _ = ask("/headers")
assert (":status", "200") in head and ("x-one", "a") in head and data == b"", head
assert [value for name, value in head if name == "x-two"] == ["b", "c"], head
assert all(name == name.lower() for name, _ in head), head

interim, head, data, _ = ask("/hints")
assert [dict(fields)[":status"] for fields in interim] == ["103"], interim
assert [value for name, value in interim[0] if name == "link"] == [
    "</a.css>; rel=preload; as=style",
    "</b.js>; rel=preload; as=script",
], interim
assert data == b"hinted"

for code in (204, 304, 404, 500):
    _, head, data, _ = ask(f"/status-with-body?code={code}")
    assert (":status", str(code)) in head, head
    assert data == (b"" if code in (204, 304) else b"a body"), (code, data)

_, head, data, _ = ask("/response-generator")
assert (":status", "201") in head and data == b"part 1;part 2;part 3;" and "content-length" not in dict(head)

_, _, data, _ = ask("/body", body=b"some bytes")
assert data == b"some bytes"
print("all is well")
