"""JDBC catalogs in a database server, without a JVM: PyIceberg's SqlCatalog reads the same tables."""

from typing import TYPE_CHECKING, Final

from siltstone.engine.errors import SpecError, StorageError
from siltstone.engine.reader.embedded_catalog import NothingWrittenError
from siltstone.engine.spec.model import CatalogSpec
from siltstone.engine.storage import storage_error

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy import URL

JDBC: Final = "jdbc:"
DRIVERS: Final = {"jdbc:postgresql:": "postgresql+psycopg", "jdbc:mysql:": "mysql+pymysql"}
"""SQLAlchemy's names of database drivers, by the beginning of the JDBC address."""
SAME_IN_BOTH: Final = frozenset({"sslmode", "sslrootcert"})
"""Parameters of an address that psycopg and the JDBC driver share. All others are for the JDBC driver only."""
TABLES: Final = "iceberg_tables"


def is_of_server(spec: CatalogSpec) -> bool:
    """Whether a catalog is in a database server that can be read without a JVM."""
    return spec.type == "jdbc" and (spec.uri or "").startswith(tuple(DRIVERS))


def server_catalog(spec: CatalogSpec, create: bool = False) -> "SqlCatalog":
    """The catalog for reading and writing. `create`: create the catalog's own tables, as Iceberg's JdbcCatalog does.

    Raises: NothingWrittenError: its tables do not exist yet. SpecError: the driver of the database is not installed.
        StorageError: the database cannot be reached.
    """
    from sqlalchemy.exc import SQLAlchemyError

    try:
        catalog = _connected(spec)
        has_tables = _has_tables(catalog)
        if create and not has_tables:
            catalog.create_tables()
            return catalog
    except ModuleNotFoundError as error:
        raise needs_extra(spec, (spec.uri or "").split(":")[1], error) from error
    except SQLAlchemyError as error:
        raise storage_error(error) or unusable(spec, error) from error
    if not has_tables:
        raise NothingWrittenError(spec.name, f"there is no table {TABLES}")
    return catalog


def database_address(spec: CatalogSpec) -> "URL":
    """The address of the catalog's database for SQLAlchemy."""
    from sqlalchemy import make_url

    uri = spec.uri or ""
    address = make_url(uri.removeprefix(JDBC))
    parameters, known = dict(address.query), spec.properties
    driver = next(name for begin, name in DRIVERS.items() if uri.startswith(begin))
    query = {name: value for name, value in parameters.items() if name in SAME_IN_BOTH}
    if "currentSchema" in parameters:
        query["options"] = f"-csearch_path={parameters['currentSchema']}"
    user, password = (known.get(f"jdbc.{name}", parameters.get(name)) for name in ("user", "password"))
    return address.set(
        drivername=driver,
        username=None if user is None else str(user),
        password=None if password is None else str(password),
        query=query,
    )


def unusable(spec: CatalogSpec, error: Exception) -> StorageError:
    """The error for a catalog whose database reports an unknown problem."""
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    return StorageError(f"Cannot use the catalog {spec.name}: {reason}.", "check uri and properties under catalog")


def needs_extra(spec: CatalogSpec, extra: str, error: Exception) -> SpecError:
    """The error for a catalog that needs a library that is not installed."""
    return SpecError(
        f"Cannot read the catalog {spec.name} without a JVM: {str(error).splitlines()[0].rstrip('.')}.",
        f"install it: pip install 'siltstone[{extra}]'",
    )


def _connected(spec: CatalogSpec) -> "SqlCatalog":
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy import NullPool, create_engine

    address = database_address(spec)
    text = address.render_as_string(hide_password=False)
    catalog = SqlCatalog(spec.name, uri=text, init_catalog_tables="false", **spec.properties)
    catalog.engine.dispose()
    catalog.engine = create_engine(address, poolclass=NullPool)  # a command keeps no connection open
    return catalog


def _has_tables(catalog: "SqlCatalog") -> bool:
    from sqlalchemy import inspect

    return bool(inspect(catalog.engine).has_table(TABLES))
