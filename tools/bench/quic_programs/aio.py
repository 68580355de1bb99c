# SPDX-License-Identifier: MIT OR Apache-2.0
"""aio.py serve WAY LOG CERTIFICATE, or aio.py connect ADDRESS WAY LOG SECONDS CONNECTIONS: see tools/bench/quic."""

import asyncio
import ssl
import sys
import time
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

PORT = 4433
AHEAD = 1 << 18  # bytes that wait in the sender
moved = [0]


class Bulk(QuicConnectionProtocol):
    """Counts what arrives, and sends without end once asked to."""

    sends = False

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            moved[0] += len(event.data)
            if self.sends and event.data.startswith(b"begin"):
                self.filling = asyncio.ensure_future(self.fill(event.stream_id))
        elif isinstance(event, ConnectionTerminated):
            print("aioquic: a connection has ended:", event, file=sys.stderr)

    async def fill(self, stream: int) -> None:
        while True:
            sender = self._quic._streams[stream].sender  # it tells nobody what waits
            if sender._buffer_stop - sender._buffer_start < AHEAD:
                self._quic.send_stream_data(stream, bytes(AHEAD // 4))
                self.transmit()
            await asyncio.sleep(0.01)


class Sender(Bulk):
    """The same, sending."""

    sends = True


async def sample(path: str) -> None:
    with Path(path).open("w") as file:
        while True:
            print(f"{time.monotonic():.3f} {moved[0]}", file=file, flush=True)
            await asyncio.sleep(0.05)


async def main(role: str, *words: str) -> None:
    settings = QuicConfiguration(is_client=role == "connect", alpn_protocols=["bench"], verify_mode=ssl.CERT_NONE)
    address, way, log, *rest = words if role == "connect" else ("0.0.0.0", *words)
    kind = Sender if (role == "connect") == (way == "up") else Bulk
    sampling = None if kind is Sender else asyncio.ensure_future(sample(log))
    if role == "serve":
        settings.load_cert_chain(rest[0], rest[0])
        await serve(address, PORT, configuration=settings, create_protocol=kind)
        await asyncio.Event().wait()
    seconds, connections = map(int, rest)
    opened = [connect(address, PORT, configuration=settings, create_protocol=kind) for _ in range(connections)]
    for one in opened:
        protocol = await one.__aenter__()
        stream = protocol._quic.get_next_available_stream_id()
        protocol._quic.send_stream_data(stream, b"begin")
        protocol.transmit()
        if kind is Sender:
            protocol.filling = asyncio.ensure_future(protocol.fill(stream))
    await asyncio.sleep(seconds)
    sys.exit(sampling and sampling.cancel())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
