"""The settings of object stores and catalogs, and the meaning of their errors.

Settings have Iceberg's names (`s3.endpoint`, `client.region` ...). The same settings are used by Iceberg in Spark, by
PyIceberg, and by PyArrow, which reads the files of a source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from siltstone.engine.errors import StorageError

StoreSettings = tuple[tuple[str, str], ...]
"""The settings of stores, by name."""

S3: Final = frozenset({"s3", "s3a", "s3n"})
GOOGLE: Final = frozenset({"gs"})
AZURE: Final = frozenset({"abfs", "abfss", "wasb", "wasbs"})
SLASHED: Final = "file"
"""The only scheme that allows a single slash."""
FILE_IO: Final[Mapping[str, str]] = {
    **dict.fromkeys(S3, "org.apache.iceberg.aws.s3.S3FileIO"),
    **dict.fromkeys(GOOGLE, "org.apache.iceberg.gcp.gcs.GCSFileIO"),
    **dict.fromkeys(AZURE, "org.apache.iceberg.azure.adlsv2.ADLSFileIO"),
}
"""The Iceberg FileIO that reads and writes the files of tables in Spark, by the scheme of their addresses."""

ENDPOINT: Final = "s3.endpoint"
REGION: Final = "client.region"
PATH_STYLE: Final = "s3.path-style-access"
VIRTUAL_HOSTS: Final = "s3.force-virtual-addressing"
USUAL_REGION: Final = "us-east-1"
_OF_STORES: Final = ("s3.", "client.", "gcs.", "adls.")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/*)")
_ENVIRONMENT: Final[Mapping[str, tuple[str, ...]]] = {
    ENDPOINT: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    REGION: ("AWS_REGION", "AWS_DEFAULT_REGION"),
}
_CREDENTIALS: Final[Mapping[str, str]] = {
    "s3.access-key-id": "AWS_ACCESS_KEY_ID",
    "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "s3.session-token": "AWS_SESSION_TOKEN",
}
_OWN_CREDENTIALS: Final = re.compile(
    r"(s3|client)\.(access-key-id|credentials-provider.*|profile-name|anonymous|role-arn|remote-signing-enabled)"
)
"""Settings that choose credentials. With one of them, the credentials of the environment are not used."""


def scheme_of(address: str) -> str:
    """The scheme of a URI in lower case; empty for a path or a name."""
    found = _SCHEME.match(address)
    return found[1].lower() if found and found[2] else ""


def lacks_slash(address: str) -> bool:
    """Whether an address is a URI with one slash instead of two: `s3:/bucket/folder`."""
    found = _SCHEME.match(address)
    return found is not None and found[2] == "/" and found[1].lower() != SLASHED


def with_slashes(address: str) -> str:
    """Such an address with two slashes."""
    return _SCHEME.sub(r"\1://", address, count=1)


def is_remote(address: str) -> bool:
    """Whether an address is in a store, and not on this machine."""
    return scheme_of(address) not in ("", SLASHED)


def environment_settings(environment: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """The settings from the AWS environment variables, without credentials if `declared` has its own."""
    found = {
        name: next(environment[variable] for variable in variables if environment.get(variable))
        for name, variables in _ENVIRONMENT.items()
        if any(environment.get(variable) for variable in variables)
    }
    if any(_OWN_CREDENTIALS.fullmatch(name) for name in declared):
        return found
    return found | {name: environment[v] for name, v in _CREDENTIALS.items() if environment.get(v)}


def completed(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, completed so that Iceberg and PyArrow behave alike.

    A store with an endpoint of its own is addressed by path, as in PyArrow, and works with any region.
    """
    found = dict(settings)
    if "s3.region" in found:
        found.setdefault(REGION, found["s3.region"])
    if ENDPOINT in found:
        found.setdefault(PATH_STYLE, "true")
        found.setdefault(REGION, USUAL_REGION)
    if found.get(PATH_STYLE, "true").lower() == "false":
        found.setdefault(VIRTUAL_HOSTS, "true")
    return found


def of_stores(properties: Mapping[str, str]) -> StoreSettings:
    """The properties of a catalog that are settings of the store of its tables."""
    return tuple((name, value) for name, value in properties.items() if name.startswith(_OF_STORES))


# --- errors ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A problem with a store or a catalog, and what to do about it."""

    reason: str
    hint: str


CREDENTIALS_HINT: Final = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or store in siltstone.yaml (docs/how-to/catalogs-and-stores.md)"
)
_ADDRESS: Final = re.compile(
    r"(?:[Ff]ailed to connect to|Connect to|Connection to|connection to server at|host:|resolve host:?|resolve hostname"
    r"|HTTPConnectionPool\(host=|HTTPSConnectionPool\(host=|UnknownHostException:) *['\"]?(?:https?://)?"
    r"([\w.-]+(?:(?::|', port=|\", port | port )\d+)?)"
)
_BEFORE_PORT: Final = re.compile(r"[^\w.-]+(?:port)?[ =]*(?=\d+$)")
_Signs = tuple[tuple[str, str, str], ...]
_SIGNS_OF_DISKS: Final[_Signs] = (
    (
        r"No space left on device|Disk quota exceeded|SQLITE_FULL",
        "no space is left",
        "free space where the tables, the catalog and Spark's temporary files (spark.local.dir) are, then retry",
    ),
    (
        r"Read-only file system|SQLITE_READONLY(?!_DBMOVED)|SQLITE_CANTOPEN|Permission denied",
        "it cannot be written or read",
        "check the permissions of the folders of the tables and of the catalog, then retry",
    ),
    (
        r"SQLITE_READONLY_DBMOVED",
        "the catalog's file was moved or removed meanwhile",
        "bring the file back, then retry",
    ),
    (
        r"SQLITE_BUSY|SQLITE_LOCKED|database is locked",
        "another program has the catalog's file locked",
        "retry when it is done",
    ),
)
"""Problems with the disks of tables and of the catalog. Errors that name a path, as for a source's files, need none."""
_SIGNS: Final[_Signs] = (
    (
        r"NO_SUCH_BUCKET|NoSuchBucket|[Tt]he specified bucket does not exist",
        "the bucket does not exist",
        "create the bucket, or correct the address",
    ),
    (
        r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|EXPIRED_?TOKEN"
        r"|Expired_?Token|INVALID_CLIENT_TOKEN|InvalidClientTokenId|UNRECOGNIZED_CLIENT",
        "the store does not accept the credentials",
        CREDENTIALS_HINT,
    ),
    (
        r"PERMANENT_REDIRECT|PermanentRedirect|Status Code: 301|HTTP status 301|AUTHORIZATION_HEADER_MALFORMED"
        r"|AuthorizationHeaderMalformed|configured region is",
        "the bucket is in another region",
        "set AWS_REGION, or client.region under store in siltstone.yaml, to the bucket's region",
    ),
    (
        r"Unable to load region",
        "no region is set",
        "set AWS_REGION, or client.region under store in siltstone.yaml",
    ),
    (
        r"[Uu]nable to load credentials|NoCredentialsError|Could not load credentials|could not be found in the chain"
        r"|default credentials were not found",
        "there are no credentials",
        CREDENTIALS_HINT,
    ),
    (
        r"ACCESS_DENIED|AccessDenied|Status Code: 403|HTTP status 403|Error \(403\)|403 Client Error|ForbiddenExc",
        "access is denied",
        f"{CREDENTIALS_HINT}, and check what the user may do",
    ),
    (
        r"password authentication failed|no password (?:was provided|supplied)|fe_sendauth|Access denied for user"
        r"|role \"[^\"]*\" does not exist",
        "the catalog's database does not accept the user or the password",
        "check jdbc.user and jdbc.password under catalog.properties",
    ),
    (
        r"database \"[^\"]*\" does not exist|Unknown database",
        "the database does not exist",
        "create it, or correct catalog.uri",
    ),
    (
        r"No suitable driver",
        "the JDBC driver is missing",
        "add its jar to spark.jars under spark.conf in siltstone.yaml",
    ),
    (
        r"NotAuthorizedException|UnauthorizedError|401 Client Error|Status Code: 401",
        "the catalog does not accept the credentials",
        "check credential or token under catalog.properties",
    ),
    (
        r"No FileSystem for scheme|Cannot initialize FileIO implementation"
        r"|NoClassDefFoundError: (?:software/amazon|com/google|com/azure)"
        r"|Cannot find constructor for interface org\.apache\.iceberg\.io\.FileIO",
        "the classes for this kind of store are missing",
        "set io-impl under catalog.properties and add the store's jar (docs/how-to/catalogs-and-stores.md)",
    ),
    (
        r"NETWORK_CONNECTION|Could not connect to server|Could(?:n't| not) resolve host|Connection refused|UnknownHost"
        r"|ConnectException|ConnectTimeout|Failed to establish a new connection|Name or service not known"
        r"|Connection to \S+ refused|The connection attempt failed|Unable to execute HTTP request|Connection timed out"
        r"|could not translate host name|Could not connect to any|REQUEST_TIMEOUT|Read timed out",
        "it cannot be reached",
        "check the address and the network, then retry",
    ),
    (
        r"This connection has been closed|I/O error occurred while sending to the backend|terminating connection"
        r"|Communications link failure|Connection reset|Broken pipe|server closed the connection",
        "the connection to it is lost",
        "check that the server runs, and the network, then retry",
    ),
)


def problem_in(text: str, signs: _Signs = _SIGNS) -> Problem | None:
    """The problem of a store or a catalog in the text of an error; None if there is none."""
    for sign, reason, hint in signs:
        if re.search(sign, text):
            return Problem(f"{reason}{_where(text)}" if "reached" in reason else reason, hint)
    return None


def _where(text: str) -> str:
    """The server that an error names, in parentheses."""
    found = _ADDRESS.search(text)
    if found is None:
        return ""
    return f" ({_BEFORE_PORT.sub(':', found[1])})"


def storage_error(error: BaseException) -> StorageError | None:
    """A library's error as siltstone's, if it is one of a store or a catalog; None otherwise.

    The first error in the chain that matches counts. Its causes have more detail, but are less clear.
    """
    each: BaseException | None = error
    while each is not None:
        found = problem_in(str(each), (*_SIGNS_OF_DISKS, *_SIGNS))
        if found is not None:
            return StorageError(f"Cannot use the catalog or its store: {found.reason}.", found.hint)
        each = each.__cause__ or each.__context__
    return None
