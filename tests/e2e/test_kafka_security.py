"""Brokers with TLS, client certificates and each documented SASL mechanism."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import CatalogSpec
from tests.brokers import WORDS
from tests.e2e.streams import insert, row
from tests.e2e.topics import TopicShop
from tests.secure_broker import CLIENT_SECRET, KEY_WORDS, SCRAM_WORDS, USER, SecureBroker, token_endpoint

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is missing")
SECRETS = (WORDS, SCRAM_WORDS, KEY_WORDS, CLIENT_SECRET)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    started = SecureBroker(tmp_path_factory.mktemp("secure"))
    started.start()
    yield started
    started.stop()


@pytest.fixture
def shop(
    spark: SparkSession, catalog: CatalogSpec, tmp_path: Path, broker: SecureBroker, monkeypatch: pytest.MonkeyPatch
) -> TopicShop:
    monkeypatch.setattr("siltstone.engine.inputs.kafka.PATIENCE_SECONDS", 4)
    created = TopicShop.of(spark, catalog, tmp_path, broker, 1)
    created.produce([insert(1, row(1, "Ann"))])
    return created


def over_tls(broker: SecureBroker, mechanism: str, **more: str) -> dict[str, str]:
    options = {name.replace("_", "."): value for name, value in more.items()}
    return {"security.protocol": "SASL_SSL", "ssl.ca.location": broker.ca, "sasl.mechanisms": mechanism, **options}


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [
        pytest.param("PLAIN", "alice", WORDS, marks=pytest.mark.slow),
        pytest.param("SCRAM-SHA-256", USER, SCRAM_WORDS, marks=pytest.mark.slow),
        ("SCRAM-SHA-512", USER, SCRAM_WORDS),
    ],
)
def test_a_client_connects_with_a_user_and_a_password(
    shop: TopicShop, broker: SecureBroker, mechanism: str, user: str, password: str
) -> None:
    options = over_tls(broker, mechanism, sasl_username=user)
    message = shop.error_of_run(bootstrap=broker.tls, options=options | {"sasl.password": "of-mallory"})
    assert "the broker refuses the connection" in message
    assert "of-mallory" not in message
    shop.run_successfully(bootstrap=broker.tls, options=options | {"sasl.password": password})
    assert shop.names() == ["Ann"]


def test_a_client_connects_with_a_token_of_an_identity_provider(shop: TopicShop, broker: SecureBroker) -> None:
    with token_endpoint() as address:
        options = over_tls(
            broker,
            "OAUTHBEARER",
            sasl_oauthbearer_method="oidc",
            sasl_oauthbearer_client_id=USER,
            sasl_oauthbearer_token_endpoint_url=address,
        )
        message = shop.error_of_run(
            bootstrap=broker.tls, options=options | {"sasl.oauthbearer.client.secret": "of-mallory"}
        )
        assert "of-mallory" not in message
        shop.run_successfully(bootstrap=broker.tls, options=options | {"sasl.oauthbearer.client.secret": CLIENT_SECRET})
    assert shop.names() == ["Ann"]


def test_a_client_connects_with_its_certificate(shop: TopicShop, broker: SecureBroker) -> None:
    folder = broker.folder
    options = {"security.protocol": "SSL", "ssl.ca.location": broker.ca}
    other = {"ssl.certificate.location": f"{folder}/other.crt", "ssl.key.location": f"{folder}/other.key"}
    own = {"ssl.certificate.location": f"{folder}/client.crt", "ssl.key.location": f"{folder}/client.key"}
    assert "the broker refuses the connection" in shop.error_of_run(bootstrap=broker.mutual, options=options | other)
    message = shop.error_of_run(bootstrap=broker.mutual, options=options | own | {"ssl.key.password": "of-mallory"})
    assert "of-mallory" not in message
    shop.run_successfully(bootstrap=broker.mutual, options=options | own | {"ssl.key.password": KEY_WORDS})
    assert shop.names() == ["Ann"]


def test_a_client_refuses_the_broker_certificate_of_an_unknown_authority(shop: TopicShop, broker: SecureBroker) -> None:
    options = over_tls(broker, "PLAIN", sasl_username="alice", sasl_password=WORDS)
    unknown = options | {"ssl.ca.location": str(broker.folder / "other.crt")}
    message = shop.error_of_run(bootstrap=broker.tls, options=unknown)
    assert "certificate" in message
    assert not any(secret in message for secret in SECRETS)
