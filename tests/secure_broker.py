"""A Kafka broker with TLS: SASL over TLS (PLAIN, SCRAM, OAUTHBEARER) on one port, client certificates on another.

openssl makes the certificates. The broker accepts unsigned tokens, because the tests are about siltstone's side.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.brokers import WORDS, Broker
from tests.servers.process import free_port

USER = "siltstone"
SCRAM_WORDS = "of-scram-alone"
KEY_WORDS = "of-the-key-alone"
CLIENT_SECRET = "of-the-client-alone"
SETTINGS = """\
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,\
SASL_SSL:SASL_SSL,SSL:SSL
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.crt
listener.name.ssl.ssl.client.auth=required
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{words}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
unsecuredLoginStringClaim_sub="broker";
"""


@dataclass
class SecureBroker(Broker):
    """The broker. Clients need its files `ca.crt`, `client.crt` and `client.key`. `other.crt` is not trusted."""

    format_options: Sequence[str] = tuple(
        option
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for option in ("--add-scram", f"{mechanism}=[name={USER},password={SCRAM_WORDS}]")
    )

    def with_more(self, settings: str) -> str:
        self.ports |= {"tls": free_port(), "mutual": free_port()}
        make_certificates(self.folder)
        lines = [line for line in settings.splitlines() if not line.startswith("listener.security.protocol.map=")]
        more = f",SASL_SSL://127.0.0.1:{self.ports['tls']},SSL://127.0.0.1:{self.ports['mutual']}"
        with_ports = [
            line + more if line.startswith(("listeners=", "advertised.listeners=")) else line for line in lines
        ]
        return "\n".join([*with_ports, SETTINGS.format(folder=self.folder, words=WORDS)])

    @property
    def tls(self) -> str:
        return f"127.0.0.1:{self.ports['tls']}"

    @property
    def mutual(self) -> str:
        return f"127.0.0.1:{self.ports['mutual']}"

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.crt")


def make_certificates(folder: Path) -> None:
    """Make an authority, certificates of the broker and of a client, and a certificate that is not trusted."""
    authority(folder, "ca")
    certificate(folder, "broker", "ca")
    certificate(folder, "client", "ca", KEY_WORDS)
    authority(folder, "other")
    broker = [(folder / f"broker.{end}").read_text(encoding="utf-8") for end in ("key", "crt")]
    (folder / "broker.pem").write_text("".join(broker), encoding="utf-8")


def authority(folder: Path, name: str) -> None:
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt",
            "-days", "2", "-subj", f"/CN={name}")  # fmt: skip


def certificate(folder: Path, name: str, by: str, words: str | None = None) -> None:
    """A certificate for 127.0.0.1, with its key. With `words`, the key is encrypted."""
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.plain", "-out", f"{name}.csr",
            "-subj", f"/CN={name}")  # fmt: skip
    (folder / f"{name}.ext").write_text("subjectAltName=IP:127.0.0.1\n", encoding="utf-8")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-CAcreateserial",
            "-out", f"{name}.crt", "-days", "2", "-extfile", f"{name}.ext")  # fmt: skip
    encrypted = () if words is None else ("-v2", "aes256", "-passout", f"pass:{words}")
    openssl(folder, "pkcs8", "-topk8", "-in", f"{name}.plain", "-out", f"{name}.key",
            *(encrypted or ("-nocrypt",)))  # fmt: skip


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@contextmanager
def token_endpoint() -> Iterator[str]:
    """The address of an endpoint that gives a token to a client with the right secret (OAuth 2, client credentials)."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            expected = base64.b64encode(f"{USER}:{CLIENT_SECRET}".encode()).decode()
            is_known = self.headers.get("Authorization") == f"Basic {expected}"
            answer = {"access_token": token(), "expires_in": 300} if is_known else {"error": "invalid_client"}
            body = json.dumps(answer).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def token() -> str:
    """A token without a signature, which is valid for five minutes."""
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": USER, "iat": now, "exp": now + 300})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, ""])
