"""A port that forwards to a server and can be shut. Clients then see the same errors as without the server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.servers.process import free_port


class Gate:
    """Forwards connections to a port of this machine while it is open."""

    def __init__(self, target: int) -> None:
        self.target, self.port = target, free_port()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()

    def open(self) -> None:
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """Refuse new connections, and break the open ones."""
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self._open |= {client, server}
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, goal: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                goal.sendall(data)
        for one in (source, goal):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            self._open.discard(one)
            one.close()


@contextmanager
def gate_to(port: int) -> Iterator[Gate]:
    """An open gate."""
    gate = Gate(port)
    gate.open()
    try:
        yield gate
    finally:
        gate.shut()
