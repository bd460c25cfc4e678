"""Settings of stores, from the environment and the project, and the errors of stores and catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.inputs.file_store import store_of
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.session import catalog_conf, launch_conf, needed_jars, session_conf
from siltstone.engine.spec import load_project, load_specs, table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from siltstone.engine.storage import completed, environment_settings, lacks_slash, problem_in, scheme_of, storage_error
from tests.servers.process import free_port

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
VARIABLES = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
)  # fmt: skip


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of AWS in the environment."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def project_of(root: Path, text: str) -> ProjectSpec:
    (root / "siltstone.yaml").write_text(text)
    return load_project(root)


# --- settings -------------------------------------------------------------------------------------------------------


def test_the_environment_gives_endpoint_region_and_credentials() -> None:
    variables = {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b", "AWS_DEFAULT_REGION": "eu-west-1"}
    assert environment_settings(variables | KEYS, {}) == {
        "s3.endpoint": "http://b",
        "client.region": "eu-west-1",
        "s3.access-key-id": "key",
        "s3.secret-access-key": "secret",
    }


@pytest.mark.parametrize("own", ["s3.access-key-id", "client.credentials-provider", "s3.remote-signing-enabled"])
def test_credentials_of_the_environment_are_not_mixed_with_others(own: str) -> None:
    assert environment_settings(KEYS | {"AWS_REGION": "eu-west-1"}, {own: "x"}) == {"client.region": "eu-west-1"}


def test_a_store_with_an_endpoint_is_addressed_by_path_unless_declared_otherwise() -> None:
    assert completed({"s3.endpoint": "http://minio"}) == {
        "s3.endpoint": "http://minio",
        "s3.path-style-access": "true",
        "client.region": "us-east-1",
    }
    other = completed({"s3.endpoint": "http://oss", "s3.path-style-access": "false", "s3.region": "eu"})
    assert (other["s3.force-virtual-addressing"], other["client.region"]) == ("true", "eu")
    assert completed({}) == {}


@pytest.mark.parametrize(
    ("address", "scheme", "is_wrong"),
    [
        ("s3://bucket/a", "s3", False),
        ("s3:/bucket/a", "s3", True),
        ("S3A://bucket", "s3a", False),
        ("file:/a/b", "file", False),
        ("/a/b", "", False),
        ("events/*.jsonl", "", False),
        ("my_warehouse", "", False),
    ],
)
def test_a_uri_has_two_slashes(address: str, scheme: str, is_wrong: bool) -> None:
    assert (scheme_of(address), lacks_slash(address)) == (scheme, is_wrong)


def test_one_section_applies_to_warehouse_and_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (KEYS | {"AWS_REGION": "eu-west-1"}).items():
        monkeypatch.setenv(name, value)
    project = project_of(
        tmp_path,
        "catalog: {type: rest, uri: 'http://c', warehouse: s3://lake, properties: {s3.endpoint: 'http://own'}}\n"
        "store: {s3.endpoint: 'http://minio:9000'}\n",
    )
    source = {"format": "debezium-json", "path": "s3://in/a"}
    spec = table_spec({"table": "a.b", "keys": ["id"], "source": source}, project)
    of_source, of_catalog = dict(spec.source.store), project.catalog.properties
    assert (of_source["s3.endpoint"], of_catalog["s3.endpoint"]) == ("http://minio:9000", "http://own")
    for found in (of_source, of_catalog):
        assert (found["client.region"], found["s3.secret-access-key"]) == ("eu-west-1", "secret")
        assert found["s3.path-style-access"] == "true"
    assert "secret" not in repr(project)
    assert "secret" not in repr(spec)


def test_local_files_have_no_store_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    project = project_of(tmp_path, "namespace: silt\n")
    spec = table_spec({"table": "a.b", "keys": ["id"], "source": {"format": "debezium-json", "path": "in"}}, project)
    assert (project.catalog.properties, spec.source.store) == ({}, ())


def test_a_uri_with_one_slash_is_a_violation(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text("catalog: {warehouse: 's3:/lake/w'}\n")
    with pytest.raises(
        SpecError, match=r"warehouse: 's3:/lake/w' is neither a path nor a URI. Hint: write s3://lake/w"
    ):
        load_project(tmp_path)
    (tmp_path / "siltstone.yaml").write_text("")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.yaml").write_text("table: a.b\nkeys: [id]\nsource: {format: debezium-json, path: s3:/b}\n")
    with pytest.raises(SpecError, match=r"source\.path: 's3:/b' is neither a path nor a URI. Hint: write s3://b"):
        load_specs(None, load_project(tmp_path))


# --- the session ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catalog", "jars", "file_io"),
    [
        (("jdbc", "jdbc:postgresql://db/c", "s3://lake"), ["postgresql", "iceberg-aws-bundle"], "aws.s3.S3FileIO"),
        (("jdbc", "jdbc:mysql://db/c", "file:///lake"), ["mysql-connector-j"], None),
        (("glue", None, "s3://lake"), ["iceberg-aws-bundle"], "aws.s3.S3FileIO"),
        (("hive", "thrift://h", "gs://lake"), [], "gcp.gcs.GCSFileIO"),
        (("hive", "thrift://h", "abfss://c@a.dfs.core.windows.net/w"), [], "azure.adlsv2.ADLSFileIO"),
        (("rest", "http://c", "s3://lake"), ["iceberg-aws-bundle"], None),
        (("rest", "http://c", "a_name"), [], None),
    ],
)
def test_a_catalog_needs_its_jars_and_its_file_io(
    catalog: tuple[str, str | None, str], jars: list[str], file_io: str | None
) -> None:
    spec = CatalogSpec("lake", *catalog)
    assert [jar.artifact for jar in needed_jars(spec)][1:] == jars
    found = catalog_conf(spec).get("spark.sql.catalog.lake.io-impl")
    assert found == (file_io and f"org.apache.iceberg.{file_io}")


def test_properties_override_the_defaults() -> None:
    spec = CatalogSpec("lake", "jdbc", "jdbc:postgresql://db/c", "s3://lake", {"io-impl": "org.example.Own"})
    assert catalog_conf(spec)["spark.sql.catalog.lake.io-impl"] == "org.example.Own"
    named = CatalogSpec("lake", "rest", "http://c", "a_name", {"s3.endpoint": "http://minio"})
    assert [jar.artifact for jar in needed_jars(named)][1:] == ["iceberg-aws-bundle"]


def test_no_secret_is_on_the_command_line_of_the_jvm(tmp_path: Path) -> None:
    project = project_of(
        tmp_path,
        "catalog: {type: rest, uri: 'http://c', properties: {token: hush}}\nspark: {conf: {spark.hadoop.k: hush}}\n",
    )
    conf = session_conf(project)
    assert [name for name, value in conf.items() if value == "hush"] == [
        "spark.sql.catalog.lake.token",
        "spark.hadoop.k",
    ]
    assert "hush" not in launch_conf(conf).values()
    assert launch_conf(conf)["spark.driver.memory"] == conf["spark.driver.memory"]


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("software.amazon.awssdk.services.s3.model.NoSuchBucketException: The specified bucket", "the bucket does not"),
        ("SdkClientException: Unable to load credentials from any of the providers in the chain", "no credentials"),
        ("SdkClientException: Unable to load region from any of the providers in the chain", "no region is set"),
        ("S3Exception: null (Service: S3, Status Code: 301, Request ID: x)", "another region"),
        ("S3Exception: Access Denied (Service: S3, Status Code: 403, Request ID: x)", "access is denied"),
        ("AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2", "does not accept the credentials"),
        ('PSQLException: FATAL: password authentication failed for user "a"', "the user or the password"),
        ('PSQLException: FATAL: database "a" does not exist', "the database does not exist"),
        ("PSQLException: Connection to 127.0.0.1:1 refused. Check that", "cannot be reached (127.0.0.1:1)"),
        ("PSQLException: This connection has been closed.", "the connection to it is lost"),
        ("PSQLException: An I/O error occurred while sending to the backend.", "the connection to it is lost"),
        ("FATAL: terminating connection due to administrator command", "the connection to it is lost"),
        ("CommunicationsException: Communications link failure", "the connection to it is lost"),
        ('connection to server at "127.0.0.1", port 1 failed: Connection refused', "cannot be reached (127.0.0.1:1)"),
        ("HTTPConnectionPool(host='c', port=81): Max retries exceeded: Connection refused", "cannot be reached (c:81)"),
        ("HttpHostConnectException: Connect to http://c:81 failed: Connection refused", "cannot be reached (c:81)"),
        ("java.net.UnknownHostException: nowhere.example", "cannot be reached (nowhere.example)"),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"', "classes for this kind"),
        ("java.sql.SQLException: No suitable driver found for jdbc:oracle:thin", "the JDBC driver is missing"),
    ],
)
def test_errors_of_libraries_have_a_reason(text: str, reason: str) -> None:
    found = problem_in(text)
    assert found is not None
    assert reason in found.reason
    assert found.hint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FSError: java.io.IOException: No space left on device", "no space is left"),
        ("[SQLITE_FULL] Insertion failed because database is full (database or disk is full)", "no space is left"),
        ("java.io.FileNotFoundException: /w/a.avro (Read-only file system)", "it cannot be written or read"),
        ("[SQLITE_READONLY] Attempt to write a readonly database", "it cannot be written or read"),
        ("[SQLITE_READONLY_DBMOVED] The database file has been moved", "the catalog's file was moved or removed"),
        ("[SQLITE_BUSY] The database file is locked (database is locked)", "another program has the catalog's file"),
    ],
)
def test_disk_errors_of_tables_and_catalogs_have_a_reason(text: str, reason: str) -> None:
    found = storage_error(RuntimeError(text))
    assert found is not None
    assert f"Cannot use the catalog or its store: {reason}" in found.message
    assert problem_in(text) is None  # an error of a source's file names the file, and keeps its own hint


def test_other_errors_stay_unchanged() -> None:
    assert storage_error(ValueError("not a number")) is None
    wrapped = ValueError("load failed")
    wrapped.__cause__ = OSError("Connection refused")
    found = storage_error(wrapped)
    assert found is not None
    assert str(found).startswith("Cannot use the catalog or its store: it cannot be reached. Hint: ")


ANSWERS = {
    "NoSuchBucket": (404, "the bucket does not exist"),
    "AccessDenied": (403, "access is denied"),
    "InvalidAccessKeyId": (403, "the store does not accept the credentials"),
    "SignatureDoesNotMatch": (403, "the store does not accept the credentials"),
    "PermanentRedirect": (301, "the bucket is in another region"),
}


@contextmanager
def answering(code: str) -> Iterator[str]:
    """A store that answers everything with one error."""
    status = ANSWERS[code][0]

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815  # the library's name

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def store(endpoint: str) -> tuple[tuple[str, str], ...]:
    keys = {"s3.access-key-id": "a", "s3.secret-access-key": "b"}
    return tuple(completed({"s3.endpoint": endpoint, **keys}).items())


@pytest.mark.parametrize("code", ANSWERS)
def test_a_refusal_of_a_store_is_one_line_with_a_hint(code: str) -> None:
    with answering(code) as endpoint, pytest.raises(SourceError) as raised:
        store_of("s3://bucket/events", store(endpoint)).children("s3://bucket/events")
    assert raised.value.message == f"Cannot list s3://bucket/events: {ANSWERS[code][1]}."
    assert raised.value.hint


def test_an_unreachable_store_is_named() -> None:
    port = free_port()
    with pytest.raises(SourceError) as raised:
        list_files("s3://bucket/events", settings=store(f"http://127.0.0.1:{port}"))
    assert raised.value.message == f"Cannot read s3://bucket/events: it cannot be reached (127.0.0.1:{port})."
