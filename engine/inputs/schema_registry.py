"""Writer schemas by their ids: from a Confluent schema registry, or from a file.

The schema of an id never changes, but a registry can be recreated with other ids. So fetched schemas are kept for one
read of a source only.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from urllib3.util import Retry

from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.inputs.schema_references import inlined
from siltstone.engine.spec.model import RegistrySpec

ACCEPTED: Final = "application/vnd.schemaregistry.v1+json, application/json"
TIMEOUT_SECONDS: Final = (10, 30)  # to connect, to answer
RETRIES: Final = Retry(
    total=4,
    backoff_factor=0.2,
    status_forcelist=(429, 500, 502, 503, 504),
    allowed_methods=("GET",),
    raise_on_status=False,
)
AVRO: Final = "AVRO"
NO_SCHEMA: Final = "is no Avro schema"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Replaces a schema that cannot be used. `reason`: why."""

    reason: str


# --- a file ---------------------------------------------------------------------------------------------------------


def schemas_in_file(path: str) -> dict[int, Any]:
    """`{"1": {...schema...}, "2": "...schema as JSON text..."}`, gzipped or not.

    Raises: SpecError: there is no such file. SourceError: it does not hold schemas by number.
    """
    try:
        data = Path(path).read_bytes()
        listed = json.loads(gzip.decompress(data) if path.endswith(".gz") else data)
    except OSError as error:
        raise SpecError(
            f"Cannot read {path}: {error.strerror or error}.", "check source.schemas in the spec"
        ) from error
    except ValueError as error:
        raise SourceError(f"Cannot read {path}: it is not JSON.", 'write it as {"1": {schema}}') from error
    if not isinstance(listed, Mapping) or not all(str(number).isdigit() for number in listed):
        raise SourceError(f"Cannot read {path}: it does not hold schemas by number.", 'write it as {"1": {schema}}')
    return {int(number): parsed(schema) for number, schema in listed.items()}


def parsed(schema: Any) -> Any:
    """A schema from JSON text or from an answer of the registry; `Unusable` if it is no Avro schema."""
    if isinstance(schema, Mapping) and "schema" in schema and "fields" not in schema:
        if schema.get("schemaType", AVRO) != AVRO:
            return Unusable(f"is of type {schema['schemaType']}")
        if schema.get("references"):
            return Unusable("refers to other schemas, which a file of schemas does not have")
        schema = schema["schema"]
    if isinstance(schema, str) and schema.lstrip().startswith(("{", "[", '"')):
        try:
            schema = json.loads(schema)
        except ValueError:
            return Unusable("is not JSON")
    return schema if isinstance(schema, (Mapping, list, str)) else Unusable(NO_SCHEMA)


# --- a registry -----------------------------------------------------------------------------------------------------


def session_of(registry: RegistrySpec) -> requests.Session:
    """A session with the registry's credentials that retries temporary failures."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=RETRIES))
    session.headers["Accept"] = ACCEPTED
    if registry.token is not None:
        session.headers["Authorization"] = f"Bearer {registry.token}"
    elif registry.user is not None:
        session.auth = HTTPBasicAuth(registry.user.encode(), (registry.password or "").encode())
    return session


def fetch(session: requests.Session, registry: RegistrySpec, number: int) -> Any:
    """The schema of an id; `Unusable` if it is no Avro schema, None if the registry does not have it.

    Raises: SpecError: the address or the credentials are wrong. SourceError: the schema cannot be fetched.
    """
    body = answer_of(session, registry, f"schemas/ids/{number}", f"schema {number}")
    return None if body is None else with_references(session, registry, body)


def with_references(session: requests.Session, registry: RegistrySpec, body: Mapping[str, Any]) -> Any:
    """The schema in an answer, with the types of the schemas that it refers to filled in.

    Raises: as `fetch`.
    """
    listed = body.get("references") or ()
    if body.get("schemaType", AVRO) != AVRO or not listed:
        return parsed(body)
    schema = parsed({**body, "references": ()})
    others: dict[tuple[str, int], Any] = {}
    missing = referred(session, registry, listed, others)
    problem = next((each for each in (schema, missing, *others.values()) if isinstance(each, Unusable)), None)
    return inlined(schema, others.values()) if problem is None else problem


def referred(
    session: requests.Session, registry: RegistrySpec, listed: Iterable[Any], found: dict[tuple[str, int], Any]
) -> Unusable | None:
    """Fetch the referenced schemas, and those that they refer to, into `found`. Gives: why one cannot be fetched."""
    for reference in listed:
        subject, version = reference.get("subject"), reference.get("version")
        if not isinstance(subject, str) or not isinstance(version, int):
            return Unusable("refers to a schema without its subject and version")
        if (subject, version) in found:
            continue
        place = f"subjects/{quote(subject, safe='')}/versions/{version}"
        body = answer_of(session, registry, place, f"version {version} of {subject}")
        if body is None:
            return Unusable(f"refers to version {version} of {subject}, which the registry does not have")
        found[subject, version] = parsed({**body, "references": ()})
        missing = referred(session, registry, body.get("references") or (), found)
        if missing is not None:
            return missing
    return None


def answer_of(session: requests.Session, registry: RegistrySpec, place: str, what: str) -> Mapping[str, Any] | None:
    """The registry's answer about a schema; None if it does not have the schema. `what`: the schema, in words.

    Raises: as `fetch`.
    """
    try:
        answer = session.get(f"{registry.url.rstrip('/')}/{place}", timeout=TIMEOUT_SECONDS)
    except requests.RequestException as error:
        reason = type(error).__name__
        raise SourceError(
            f"Cannot fetch {what} from the registry: it does not answer ({reason}, {registry.url!r}).",
            "check that the registry runs, and its url",
        ) from error
    if answer.status_code == requests.codes.not_found and body_of(answer).get("error_code") is not None:
        return None
    check_status(answer, registry, what)
    body = body_of(answer)
    if not isinstance(body.get("schema"), str):
        raise no_registry(registry, "the answer holds no schema")
    return body


def check_status(answer: requests.Response, registry: RegistrySpec, what: str) -> None:
    """Raise an error for an answer without a schema. `what`: the schema, in words.

    Raises: SpecError: the credentials are wrong, or the address is no registry. SourceError: the registry fails.
    """
    status = answer.status_code
    if status in (requests.codes.unauthorized, requests.codes.forbidden):
        raise SpecError(
            f"Cannot fetch {what} from the registry: it refuses the credentials ({status}, {registry.url!r}).",
            "check the registry's user and password, or token, in the spec or the project file",
        )
    if status >= requests.codes.server_error or status == requests.codes.too_many_requests:
        raise SourceError(
            f"Cannot fetch {what} from the registry: it answers {status}, also after retries ({registry.url!r}).",
            "retry when the registry works",
        )
    if status != requests.codes.ok:
        raise no_registry(registry, f"it answers {status}")


def body_of(answer: requests.Response) -> Mapping[str, Any]:
    """The JSON object in an answer; empty if there is none."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, Mapping) else {}


def no_registry(registry: RegistrySpec, why: str) -> SpecError:
    """The error for an address that is no registry."""
    return SpecError(
        f"Cannot read schemas: {registry.url!r} is no schema registry ({why}).", "check source.registry.url"
    )
