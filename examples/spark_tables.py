"""A Spark job: write the tables of a team's sessions as Parquet, and print what each model used.

    spark-submit examples/spark_tables.py s3://team/sessions s3a://warehouse/sessions

`reread[spark]` has to be installed on the driver and on every worker, with the credentials of the bucket in their
environment. The first address is read by reread, the second is written by Spark.
"""

import argparse

from pyspark.sql import SparkSession, functions

import reread

TABLES = ("sessions", "records", "messages", "calls", "usage", "edits", "files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="a folder that every worker sees, or s3://BUCKET/FOLDER")
    parser.add_argument("target", help="where Spark writes Parquet")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("reread tables").getOrCreate()
    reread.spark.register(spark)
    for table in arguments.tables:
        rows = spark.read.format("reread").option("table", table).load(arguments.source)
        rows.write.mode("overwrite").partitionBy("machine", "month").parquet(f"{arguments.target}/{table}")
        print(table, spark.read.parquet(f"{arguments.target}/{table}").count(), "rows")
    if "usage" in arguments.tables:
        usage = spark.read.parquet(f"{arguments.target}/usage")
        figures = ("responses", "input_tokens", "output_tokens", "cache_read_tokens", "cost_usd")
        usage.groupBy("model").agg(*(functions.sum(name).alias(name) for name in figures)).orderBy("model").show()


if __name__ == "__main__":
    main()
