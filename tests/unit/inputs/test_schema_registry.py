"""Schemas by their ids: from a registry over a real socket, with all of its failures, and from a file."""

import base64
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import fastavro
import pytest

from siltstone.engine.decode.formats.avro_values import BodyReader
from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.inputs.schema_registry import Unusable, fetch, schemas_in_file, session_of
from siltstone.engine.spec.model import RegistrySpec, SourceSpec

SCHEMA = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
BASIC = "Basic " + base64.b64encode("me:pässword".encode()).decode()


class Registry(ThreadingHTTPServer):
    """A registry with prepared answers. `answers` has a list of (status, body) for each path. The last one repeats."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, list[tuple[int, Any]]] = {}
        self.seen: list[tuple[str, str | None]] = []
        self.wanted: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers["Authorization"]))
        status, body = 401, {"error_code": 401}
        if self.server.wanted in (None, self.headers["Authorization"]):
            listed = self.server.answers.get(self.path, [(404, {"error_code": 40403, "message": "Schema not found"})])
            status, body = listed.pop(0) if len(listed) > 1 else listed[0]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Print no log."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def answer(schema: Any = SCHEMA, **more: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"schema": json.dumps(schema)} | more


def source(registry: Registry | str, **credentials: str) -> SourceSpec:
    url = registry if isinstance(registry, str) else registry.url
    return SourceSpec("debezium-avro", "/events", registry=RegistrySpec(url, **credentials))


def fetched(source: SourceSpec, numbers: Iterable[int]) -> dict[int, Any]:
    """The schemas of these ids, without those that the registry does not have."""
    assert source.registry is not None
    with session_of(source.registry) as session:
        found = {number: fetch(session, source.registry, number) for number in numbers}
    return {number: schema for number, schema in found.items() if schema is not None}


def test_each_id_is_requested_once_and_an_unknown_one_is_left_out(registry: Registry) -> None:
    registry.answers = {"/schemas/ids/1": [answer()], "/schemas/ids/7": [answer(["null", "int"])]}
    assert fetched(source(registry.url + "/"), [1, 2, 7]) == {1: SCHEMA, 7: ["null", "int"]}
    assert registry.seen == [(f"/schemas/ids/{number}", None) for number in (1, 2, 7)]


@pytest.mark.parametrize(
    ("credentials", "header"),
    [({"user": "me", "password": "pässword"}, BASIC), ({"token": "t0ken"}, "Bearer t0ken")],
)
def test_credentials_are_sent_and_wrong_ones_are_reported_without_showing_them(
    registry: Registry, credentials: dict[str, str], header: str
) -> None:
    registry.answers, registry.wanted = {"/schemas/ids/1": [answer()]}, header
    assert fetched(source(registry, **credentials), [1]) == {1: SCHEMA}
    wrong = {name: value + "!" for name, value in credentials.items()}
    with pytest.raises(SpecError, match="refuses the credentials \\(401") as caught:
        fetched(source(registry, **wrong), [1])
    assert not any(value in str(caught.value) for value in wrong.values() if value != "me!")
    assert not any(value in repr(source(registry, **wrong)) for name, value in wrong.items() if name != "user")


def test_temporary_failures_are_retried(registry: Registry) -> None:
    registry.answers = {"/schemas/ids/1": [(500, {}), (503, {}), answer()]}
    assert fetched(source(registry), [1]) == {1: SCHEMA}
    assert len(registry.seen) == 3


REFUSED: list[tuple[tuple[int, Any], type[Exception], str]] = [
    ((500, {}), SourceError, "answers 500, also after retries"),
    ((404, b"<html>no page</html>"), SpecError, "is no schema registry (it answers 404)"),
    ((200, b"hello"), SpecError, "is no schema registry (the answer holds no schema)"),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_a_server_that_is_not_a_registry_ends_the_run(
    registry: Registry, given: tuple[int, Any], error: type[Exception], message: str
) -> None:
    registry.answers = {"/schemas/ids/1": [given]}
    with pytest.raises(error) as caught:
        fetched(source(registry), [1])
    assert message in str(caught.value)


def test_a_schema_that_is_not_avro_is_reported_for_its_id(registry: Registry) -> None:
    given = [answer(schemaType="PROTOBUF"), answer(references=[{"name": "other"}]), (200, {"schema": "{"}), answer()]
    given.append(answer(references=[{"name": "a.b", "subject": "b", "version": 2}]))
    registry.answers = {f"/schemas/ids/{number}": [found] for number, found in enumerate(given)}
    reasons = ["is of type PROTOBUF", "refers to a schema without its subject and version", "is not JSON"]
    missing = Unusable("refers to version 2 of b, which the registry does not have")
    assert fetched(source(registry), range(5)) == dict(enumerate([*map(Unusable, reasons), SCHEMA, missing]))


def test_types_of_other_schemas_are_defined_at_their_first_use(registry: Registry) -> None:
    country = {"type": "enum", "name": "geo.Country", "symbols": ["DE", "FR"]}
    address = record("Address", {"country": ["null", "Country"], "street": "string"}, "geo")
    person = record("Person", {"home": "geo.Address", "work": ["null", "geo.Address"], "born": "geo.Country"}, "crm")
    of_address = [{"name": "geo.Address", "subject": "geo/Address", "version": 3}]
    of_country = [{"name": "geo.Country", "subject": "Country", "version": 1}]
    registry.answers = {
        "/schemas/ids/1": [answer(person, references=[*of_address, *of_country])],
        "/subjects/geo%2FAddress/versions/3": [answer(address, references=of_country)],
        "/subjects/Country/versions/1": [answer(country)],
    }
    schema = fetched(source(registry), [1])[1]
    value = {"home": {"country": "DE", "street": "a"}, "work": {"country": None, "street": "b"}, "born": "FR"}
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), value)
    assert BodyReader(schema).read(written.getvalue()) == value
    assert len(registry.seen) == 3


def record(name: str, fields: dict[str, Any], space: str) -> dict[str, Any]:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": name, "namespace": space, "fields": listed}


def test_a_registry_that_does_not_answer_is_named(registry: Registry) -> None:
    with pytest.raises(SourceError, match="does not answer"):
        fetched(source("http://127.0.0.1:1"), [1])


@pytest.mark.parametrize("name", ["schemas.json", "schemas.json.gz"])
def test_a_file_holds_schemas_as_objects_or_as_text(tmp_path: Path, name: str) -> None:
    data = json.dumps({"1": SCHEMA, "2": json.dumps(SCHEMA), "3": {"schema": json.dumps(SCHEMA)}}).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = schemas_in_file(str(tmp_path / name))
    assert found == {1: SCHEMA, 2: SCHEMA, 3: SCHEMA}


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ("[1]", "does not hold schemas by number"), ('{"a": {}}', "does not hold"), (None, "No such")],
)
def test_a_file_without_schemas_is_reported(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "schemas.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises((SourceError, SpecError), match=message):
        schemas_in_file(str(file))
