"""Sessions as tables: rows, Arrow, Parquet files that are brought up to date, and SQL over them.

The folder is not called `tables`, because that is the name of the public function. pyarrow and DuckDB come with
`reread[tables]`: only `arrow` and what imports it needs the one, only `sql` the other.
"""
