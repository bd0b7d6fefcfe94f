"""Bytes that are kept: whole files and parts of them, in folders and in buckets, written whole or not at all."""
