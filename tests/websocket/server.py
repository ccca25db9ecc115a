"""A WebSocket server by Python's websockets: it answers in capitals, once as many clients as it is told are there."""

import asyncio, sys
import websockets

count, together = int(sys.argv[1]), asyncio.Event()
here = 0


async def serve(socket, *_):
    global here
    here += 1
    if here == count:
        together.set()
    await together.wait()
    async for message in socket:
        await socket.send(message.upper())


async def main():
    async with websockets.serve(serve, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
