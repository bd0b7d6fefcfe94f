"""The policies for S3 in docs/team.md, enforced by moto: each machine writes its own, one person reads all.

moto checks actions and resources. It knows no variables, which are replaced here, and no condition on what is listed,
which is added here as AWS documents it.
"""

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError
from bucket import Bucket, run, start
from moto import settings
from moto.iam import access_control
from team_machines import PEOPLE, Machine

DOCUMENT = (Path(__file__).parents[1] / "docs" / "team.md").read_text()
FIGURES, SESSIONS, READER = (text for text in re.findall(r"```json\n(.*?)```", DOCUMENT, re.S) if "2012-10-17" in text)


SignIn = Callable[[str, str], dict[str, str]]


@contextmanager
def unchecked() -> Iterator[None]:
    """Let moto check no request."""
    settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
    yield
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0


@pytest.fixture
def sign_in(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[SignIn]:
    """Let moto check every request from now on, and return what makes a user with a policy and its credentials."""
    iam, asked = boto3.client("iam", "us-east-1", endpoint_url=bucket.client.meta.endpoint_url), threading.local()
    check = access_control.S3IAMRequest.check_action_permitted

    def permitted(self: Any, resource: str) -> None:
        asked.prefix = parse_qs(urlsplit(self._path).query, keep_blank_values=True).get("prefix", [None])[0]
        check(self, resource)

    def meets(self: Any, _: object) -> bool:
        condition = self._statement.get("Condition", {"StringLikeIfExists": {"s3:prefix": ["*"]}})
        [(kind, keys)] = condition.items()
        [(key, patterns)] = keys.items()
        assert (kind, key) == ("StringLikeIfExists", "s3:prefix")
        return asked.prefix is None or any(fnmatchcase(asked.prefix, pattern) for pattern in patterns)

    monkeypatch.setattr(access_control.S3IAMRequest, "check_action_permitted", permitted)
    monkeypatch.setattr(access_control.IAMPolicyStatement, "_check_conditions", meets)

    def make(name: str, policy: str) -> dict[str, str]:
        own = policy.replace(":::team", f":::{bucket.name}").replace("${aws:username}", name)
        with unchecked():
            iam.create_user(UserName=name)
            iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=own)
            key = iam.create_access_key(UserName=name)["AccessKey"]
        return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    yield make
    settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
    for user in iam.list_users()["Users"]:
        iam.delete_user_policy(UserName=user["UserName"], PolicyName="own")
        for key in iam.list_access_keys(UserName=user["UserName"])["AccessKeyMetadata"]:
            iam.delete_access_key(UserName=user["UserName"], AccessKeyId=key["AccessKeyId"])
        iam.delete_user(UserName=user["UserName"])


def refused(keys: dict[str, str], bucket: Bucket, action: str, **options: Any) -> bool:
    """True if the server refuses a request with these credentials."""
    client = boto3.client(
        "s3",
        endpoint_url=bucket.client.meta.endpoint_url,
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )
    try:
        getattr(client, action)(Bucket=bucket.name, **options)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AccessDenied"
        return True
    return False


@pytest.mark.parametrize(
    ("folder", "policy", "put", "read"),
    [
        ("figures", FIGURES, ("tables", "--to"), ("usage", "--team")),
        ("sessions", SESSIONS, ("keep", "-q", "--to"), ("usage", "--root")),
    ],
)
def test_a_machine_writes_its_own_and_a_reader_reads_all(
    folder: str,
    policy: str,
    put: tuple[str, ...],
    read: tuple[str, ...],
    bucket: Bucket,
    sign_in: SignIn,
    tmp_path: Path,
) -> None:
    out, machines = f"s3://{bucket.name}/{folder}", [Machine(tmp_path, n) for n in range(5)]
    people = {name: one.variables | sign_in(name, policy) for name, one in zip(PEOPLE, machines, strict=False)}
    for one, variables in zip(machines, people.values(), strict=True):
        run("--root", str(one.root), *put, out, **variables)
    shutil.copytree(machines[1].root, machines[0].root, dirs_exist_ok=True)
    run("--root", str(machines[0].root), *put, out, **people["ann"])
    lead = Machine(tmp_path, 6).variables | sign_in("lea", READER.replace("sessions/*", f"{folder}/*"))
    assert json.loads(run(*read, out, "--json", **lead))["totals"]["responses"] > 20

    ann = people["ann"]
    keys = every_key(bucket, folder)
    theirs = next(key for key in keys if "ben-1" in key)
    assert refused(ann, bucket, "get_object", Key=theirs) and refused(ann, bucket, "delete_object", Key=theirs)
    assert refused(ann, bucket, "put_object", Key=theirs, Body=b"junk")
    assert refused(ann, bucket, "list_objects_v2", Prefix=theirs.rpartition("/")[0])
    mine = next(key for key in keys if "ann-0" in key)
    assert not refused(ann, bucket, "get_object", Key=mine)
    for key in (mine, theirs):
        assert refused(lead, bucket, "put_object", Key=key, Body=b"junk") and refused(
            lead, bucket, "delete_object", Key=key
        )
        assert not refused(lead, bucket, "get_object", Key=key)
    forged = ann | {"REREAD_MACHINE": "ben-1", "REREAD_CACHE": str(tmp_path / "forged")}
    for variables in (forged, lead):
        with start("--root", str(machines[0].root), *put, out, **variables) as process:
            errors = process.communicate(timeout=300)[1]
        assert process.returncode in (1, 2) and b"access denied" in errors
    assert every_key(bucket, folder) == keys


def every_key(bucket: Bucket, folder: str) -> list[str]:
    """Return the names of all objects, whoever may list them."""
    with unchecked():
        return [one["Key"] for one in bucket.client.list_objects_v2(Bucket=bucket.name, Prefix=folder)["Contents"]]
