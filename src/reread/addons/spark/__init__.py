"""Sessions as a data source of Apache Spark: `reread.spark.register(spark)`, then `spark.read.format("reread")`.

pyspark comes with `reread[spark]`, on the driver and on every worker; it is imported when `register` is called.
"""

from __future__ import annotations

import importlib
from typing import Any

from reread.base.addons import Addon
from reread.errors import Misuse

ADDON = Addon(names={"spark": "reread.addons:spark"})
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def count_usage(spark: Any, path: str, *, task_bytes: int = 32 << 20) -> Any:
    """Return the table `usage` of a folder or bucket as a data frame, each response once, counted by all workers.

    `load` reads that table as one task. Here a first job finds which files have something in common, and files that
    have nothing in common are counted by different tasks, of about so many bytes.
    """
    register(spark)
    from reread.addons.spark.files import root_of
    from reread.addons.spark.usage_tasks import usage_frame

    return usage_frame(spark, root_of({"path": path}), task_bytes)


def register(spark: Any) -> None:
    """Make the format `reread` known to a Spark session, and let it push filters down.

    `spark.read.format("reread").option("table", "calls").load("s3://BUCKET/FOLDER")` reads a folder or bucket, and
    `spark.readStream` follows it. The option `text` adds the columns with what was said, `columns` names those that
    are wanted.
    """
    try:
        _ = importlib.import_module("pyspark.sql.datasource").EqualTo
    except (ModuleNotFoundError, AttributeError):
        from reread.base.optional_dependencies import install_command

        raise Misuse(f"Spark needs pyspark 4.1 or newer; install it with `{install_command('spark')}`.") from None
    from reread.addons.spark.source import SessionSource

    spark.dataSource.register(SessionSource)
    spark.conf.set(PUSHDOWN, "true")
