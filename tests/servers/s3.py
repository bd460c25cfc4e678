"""An S3 server: moto's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import free_port, running

REGION = "eu-west-1"
KEY, SECRET = "AKIDOFTHETESTS", "SecretOfTheTests/0123456789"


@dataclass(frozen=True)
class S3:
    """A server, from the view of its clients."""

    endpoint: str

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a project."""
        keys = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET}
        return {"s3.endpoint": self.endpoint, "client.region": REGION, **keys}

    @property
    def variables(self) -> dict[str, str]:
        """The same settings as variables of the environment."""
        keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, **keys}

    def bucket(self, name: str) -> str:
        """Create a bucket. Gives its address."""
        place = {"LocationConstraint": REGION}
        self.client().create_bucket(Bucket=name, CreateBucketConfiguration=place)
        return f"s3://{name}"

    def put(self, address: str, content: bytes) -> None:
        """Write an object."""
        bucket, _, key = address.removeprefix("s3://").partition("/")
        self.client().put_object(Bucket=bucket, Key=key, Body=content)

    def get(self, address: str) -> bytes:
        """Read an object."""
        bucket, _, key = address.removeprefix("s3://").partition("/")
        return bytes(self.client().get_object(Bucket=bucket, Key=key)["Body"].read())

    def keys(self, bucket: str) -> list[str]:
        """The names of all objects of a bucket."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket.removeprefix("s3://"))
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def client(self) -> Any:
        """Amazon's own client."""
        import boto3

        return boto3.client(
            "s3", REGION, endpoint_url=self.endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET
        )


@contextmanager
def s3_server(folder: Path) -> Iterator[S3]:
    """An empty server."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, port, folder / "s3.log"):
        yield S3(f"http://127.0.0.1:{port}")
