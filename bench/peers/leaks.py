"""Sessions with one secret each, and sessions with something harmless that looks like one: which are reported?"""

import base64
import hashlib
import json
import random
import shutil
import string
import uuid
from pathlib import Path

from needles import ANSWER, ENVELOPE

RANDOM = random.Random(22)
HEX, UPPER = "0123456789abcdef", string.ascii_uppercase + "234567"
BASE64 = string.ascii_letters + string.digits + "+/"
PEM = "-----{} RSA PRIVATE KEY-----"


def some(alphabet: str, count: int) -> str:
    return "".join(RANDOM.choices(alphabet, k=count))


def word(count: int) -> str:
    return some(string.ascii_letters + string.digits, count)


def token() -> str:
    parts = {"alg": "HS256", "typ": "JWT"}, {"sub": "1234", "iat": 1794000000}
    packed = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*packed, word(43)])


SECRETS = {
    "AWS key": f"AWS_ACCESS_KEY_ID=AKIA{some(UPPER, 16)}\nAWS_SECRET_ACCESS_KEY={some(BASE64, 40)}",
    "GitHub token in a remote": f"origin\thttps://x-access-token:ghp_{word(36)}@github.com/acme/shop.git (fetch)",
    "GitLab token": f"glab auth login --token glpat-{word(20)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{word(10).upper()}/B{word(10).upper()}/{word(24)}",
    "Stripe key": f"stripe.api_key = 'sk_live_{word(24)}'",
    "Google API key": f"maps_key: AIza{word(35)}",
    "npm token": f"//registry.npmjs.org/:_authToken=npm_{word(36)}",
    "PyPI token": f"[pypi]\npassword = pypi-AgEIcHlwaS5vcmc{word(130)}",
    "Anthropic key": f"export ANTHROPIC_API_KEY=sk-ant-api03-{word(93)}AA",
    "private key": "\n".join([PEM.format("BEGIN"), *(some(BASE64, 64) for _ in range(12)), PEM.format("END")]),
    "database URL": f"DATABASE_URL=postgres://shop:{word(16)}@db.internal:5432/shop",
    "JSON web token": f"Authorization: Bearer {token()}",
    "password in YAML": f"smtp:\n  user: mailer\n  password: {word(14)}!",
    "password in a command": f"$ mysql -u root -p{word(12)} shop",
    "basic authentication": f"curl -u admin:{word(14)} https://build.internal/job/deploy",
    "secret key of a framework": f"SECRET_KEY = '{some(string.ascii_letters + string.digits + '!@#$%^&*', 50)}'",
    "key in base64": base64.b64encode(f"AWS_SECRET_ACCESS_KEY={some(BASE64, 40)}".encode()).decode(),
    "cookie": f"Set-Cookie: session={word(40)}; HttpOnly; Secure",
}
HARMLESS = {
    "commit": f"commit {some(HEX, 40)}\nMerge: {some(HEX, 7)} {some(HEX, 7)}",
    "uuid": f"request id {uuid.UUID(int=RANDOM.getrandbits(128))}",
    "integrity": f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(b"x").digest()).decode()}"',
    "checksum": f"{hashlib.sha256(b'x').hexdigest()}  shop-1.2.tar.gz",
    "placeholder": "API_KEY=your-api-key-here\nexport TOKEN=<token>",
    "from the environment": 'password = os.environ["DB_PASSWORD"]\ntoken = get_token(user)',
    "identifier": "AbstractSingletonProxyFactoryBeanConfigurationManagerImpl",
    "picture": f"data:image/png;base64,iVBORw0KGgo{some(BASE64, 200)}",
    "long path": "/usr/lib/python3/dist-packages/pip/_vendor/urllib3/contrib/_securetransport/bindings.py",
    "minified code": 'var a=function(e,t){return e.token===t.token&&!e.key};e.password=null;this.secret="";',
}


def plant(tree: Path) -> dict[str, str]:
    """Write a session for each text, and return their names by session id."""
    shutil.rmtree(tree, ignore_errors=True)
    folder = tree / "projects" / "-home-dev-leaks"
    folder.mkdir(parents=True)
    names: dict[str, str] = {}
    for name, text in {**SECRETS, **HARMLESS}.items():
        id = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        names[id] = name
        (folder / f"{id}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records(id, text)))
    return names


def records(id: str, text: str) -> list[dict[str, object]]:
    call = {"type": "tool_use", "id": f"toolu_{id[:8]}", "name": "Bash", "input": {"command": "./show"}}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
    messages = [
        ("user", {"role": "user", "content": "What does it print?"}),
        ("assistant", {**ANSWER, "id": f"msg_{id[:8]}", "content": [call]}),
        ("user", {"role": "user", "content": [result]}),
        ("assistant", {**ANSWER, "id": f"msg_{id[-8:]}", "content": [{"type": "text", "text": "That is all."}]}),
    ]
    uuids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{id} {n}")) for n in range(len(messages))]
    return [
        {
            **ENVELOPE,
            "cwd": "/home/dev/leaks",
            "type": type,
            "uuid": uuids[n],
            "parentUuid": uuids[n - 1] if n else None,
            "sessionId": id,
            "timestamp": f"2026-11-01T12:00:0{n}.000Z",
            "message": message,
        }
        for n, (type, message) in enumerate(messages)
    ]
