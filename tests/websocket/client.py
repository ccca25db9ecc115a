"""Talks to the application of these tests through Python's websockets, which knows nothing of weft."""

import asyncio
import ssl
import sys

import websockets

URL = sys.argv[1]
TLS = ssl.create_default_context(cafile="ca.pem") if URL.startswith("wss:") else None


def connect(user, **options):
    return websockets.connect(f"{URL}/dialogue?user={user}", ssl=TLS, **options)


async def messages():
    async with connect("ada", subprotocols=["chat.v1", "chat.v2"]) as socket:
        assert socket.subprotocol == "chat.v2", socket.subprotocol
        assert await socket.recv() == "hello ada"
        for message in ["", "text", "\u20ac" * 100_000, b"", bytes(range(256)) * 1000]:
            await socket.send(message)
            assert await socket.recv() == message
        # An iterable is sent in fragments.
        await socket.send(["one ", "two ", "\u20ac"])
        assert await socket.recv() == "one two \u20ac"
        await asyncio.wait_for(await socket.ping(), 60)


async def many():
    async def one(number):
        async with connect(f"u{number}") as socket:
            assert await socket.recv() == f"hello u{number}"
            for turn in range(20):
                await socket.send(f"{number} {turn}")
                assert await socket.recv() == f"{number} {turn}"

    await asyncio.gather(*(one(number) for number in range(50)))


async def ends():
    async with connect("bob") as socket:
        assert await socket.recv() == "hello bob"
        await socket.send("close so it is")
        try:
            while True:
                await socket.recv()
        except websockets.ConnectionClosed as closed:
            assert (closed.rcvd.code, closed.rcvd.reason) == (4000, "so it is"), closed
    try:
        await connect("refused")
    except websockets.InvalidHandshake as refused:
        # Releases before 14 have an exception of their own for it.
        status = refused.response.status_code if hasattr(refused, "response") else refused.status_code
        assert status == 403, refused
    else:
        raise AssertionError("it was accepted")


async def main():
    await messages()
    await many()
    await ends()
    print("all is well")


asyncio.run(main())
