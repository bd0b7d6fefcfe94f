"""The services that have buckets: one module each, one row here."""

from __future__ import annotations

from reread.storage.services.azure import AZURE
from reread.storage.services.gcs import GCS
from reread.storage.services.s3 import S3

SERVICES = (S3, GCS, AZURE)
BY_SCHEME = {scheme: service for service in SERVICES for scheme in service.schemes}
