"""WebSockets as streams of HTTP/2 (RFC 8441), by Python's h2, which knows the frames of HTTP/2 and nothing of WebSocket."""

import os
import socket
import ssl
import struct
import sys

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings

PORT = int(sys.argv[1])


class Peer:
    def __init__(self, tls):
        self.sock = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        if tls:
            context = ssl.create_default_context(cafile="ca.pem")
            context.set_alpn_protocols(["h2"])
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.heads, self.data, self.ended, self.reset = {}, {}, set(), {}
        self.push()
        self.until(lambda: self.h2.remote_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL) == 1)

    def push(self):
        self.sock.sendall(self.h2.data_to_send())

    def until(self, done):
        while not done():
            received = self.sock.recv(65536)
            assert received, "closed too soon"
            for event in self.h2.receive_data(received):
                if isinstance(event, h2.events.ResponseReceived):
                    self.heads[event.stream_id] = event.headers
                elif isinstance(event, h2.events.DataReceived):
                    self.data[event.stream_id] = self.data.get(event.stream_id, b"") + event.data
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.ended.add(event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    self.reset[event.stream_id] = event.error_code
            self.push()

    def ask(self, path, protocol="websocket", *more):
        stream = self.h2.get_next_available_stream_id()
        fields = [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "https"), (":path", path)]
        fields += [(":authority", "localhost"), ("sec-websocket-version", "13"), *more]
        self.h2.send_headers(stream, fields)
        self.push()
        self.until(lambda: stream in self.heads or stream in self.reset)
        return stream

    def send(self, stream, opcode, payload):
        mask = os.urandom(4)
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
        elif length < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, length)
        frame = head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        while frame:
            self.until(lambda: self.h2.local_flow_control_window(stream) > 0)
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            self.h2.send_data(stream, frame[:room])
            frame = frame[room:]
            self.push()

    def frame(self, stream):
        def parsed():
            data = self.data.get(stream, b"")
            if len(data) < 2:
                return None
            at, length = 2, data[1]
            if length == 126:
                if len(data) < 4:
                    return None
                at, length = 4, struct.unpack("!H", data[2:4])[0]
            elif length == 127:
                if len(data) < 10:
                    return None
                at, length = 10, struct.unpack("!Q", data[2:10])[0]
            if len(data) < at + length:
                return None
            return data[0], data[at : at + length], at + length

        self.until(lambda: parsed() is not None)
        first, payload, used = parsed()
        self.data[stream] = self.data[stream][used:]
        return first, payload


for tls in (len(sys.argv) > 2,):
    peer = Peer(tls)
    one = peer.ask("/dialogue?user=ada", "websocket", ("sec-websocket-protocol", "chat.v1, chat.v2"))
    head = dict(peer.heads[one])
    assert head[":status"] == "200" and head["sec-websocket-protocol"] == "chat.v2", head
    assert "sec-websocket-accept" not in head and "content-length" not in head and "upgrade" not in head, head
    assert peer.frame(one) == (0x81, b"hello ada")
    # Another beside it, and a request: all on one connection.
    two = peer.ask("/dialogue?user=bob")
    assert peer.frame(two) == (0x81, b"hello bob")
    for payload in (b"", b"text", b"x" * 200_000):
        peer.send(one, 1, payload)
        peer.send(two, 2, payload)
        assert peer.frame(one) == (0x81, payload)
        assert peer.frame(two) == (0x82, payload)
    peer.send(one, 9, b"ping")
    assert peer.frame(one) == (0x8A, b"ping")
    # A close frame is answered, and the stream ends without a reset.
    peer.send(one, 8, struct.pack("!H", 1000))
    assert peer.frame(one) == (0x88, struct.pack("!H", 1000))
    peer.until(lambda: one in peer.ended)
    # The server may want no more of it by then (RFC 9113 section 8.1).
    if one not in peer.reset:
        peer.h2.end_stream(one)
        peer.push()
    # The service closes.
    peer.send(two, 1, b"close so it is")
    assert peer.frame(two) == (0x88, struct.pack("!H", 4000) + b"so it is")
    peer.send(two, 8, struct.pack("!H", 4000))
    peer.until(lambda: two in peer.ended)
    assert set(peer.reset.values()) <= {h2.errors.ErrorCodes.NO_ERROR}, peer.reset
    # A page is no tunnel, and neither is what the service refuses.
    page = peer.ask("/page")
    assert dict(peer.heads[page])[":status"] == "501", peer.heads[page]
    refused = peer.ask("/dialogue?user=refused")
    assert dict(peer.heads[refused])[":status"] == "403", peer.heads[refused]
    wrong = peer.ask("/dialogue?user=eve", "connect-udp")
    assert wrong in peer.reset, peer.heads
print("all is well")
