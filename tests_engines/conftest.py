"""The engines on this machine: moto's S3 server, with a bucket for each test, and a Spark of two workers."""

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from bucket import Bucket
from moto.server import ThreadedMotoServer

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """The address of an S3 server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """An empty bucket, with the environment that leads to it, and a home of the test's own."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "REREAD_HOME": str(tmp_path / "store"),
        "REREAD_CACHE": str(tmp_path / "cache"),
        "REREAD_MACHINE": "laptop",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=s3_address)
    name = f"team-{abs(hash(tmp_path)):x}"
    client.create_bucket(Bucket=name)
    samples, kept = REPOSITORY / "src" / "reread" / "samples", shutil.ignore_patterns("*.zst*")
    shutil.copytree(samples / "projects", tmp_path / "claude" / "projects", ignore=kept)
    yield Bucket(client, name, tmp_path / "claude")
    for found in client.list_objects_v2(Bucket=name).get("Contents", ()):
        client.delete_object(Bucket=name, Key=found["Key"])
    client.delete_bucket(Bucket=name)
    client.close()


@pytest.fixture(scope="session")
def spark(s3_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark of two workers, each a process of its own."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    import pyspark
    from pyspark.sql import SparkSession

    import reread

    folder = tmp_path_factory.mktemp("spark")
    own = {
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "REREAD_CACHE": str(folder / "workers"),
        "AWS_ENDPOINT_URL": s3_address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "REREAD_MACHINE": "laptop",
    }
    os.environ |= own | {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **{f"spark.executorEnv.{name}": value for name, value in own.items()},
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    reread.spark.register(session)
    yield session
    session.stop()
