"""The formats that detect-secrets tests its plug-ins with, generated: each is found, wherever it stands."""

import random
import string
from collections.abc import Callable

from batches import table

from reread.redaction.scan import SecretScanner

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
PEM = LETTERS + "+/"


class Generator:
    """Makes up texts with a secret in them, so that none is ever written down."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, count: int, letters: str = LETTERS) -> str:
        return "".join(self._random.choices(letters, k=count))

    def one(self, *words: str) -> str:
        return self._random.choice(words)


FORMATS: dict[str, Callable[[Generator], tuple[str, str]]] = {
    "AWS access key": lambda g: ("{}", g.one("AKIA", "ASIA", "ABIA", "ACCA") + g.some(16, UPPER)),
    "AWS secret key": lambda g: ('aws_secret_access_key="{}"', g.some(40, PEM)),
    "Azure storage": lambda g: ("AccountKey={}", g.some(86, PEM) + "=="),
    "Artifactory": lambda g: ('"{}"', "AKCp" + g.some(69)),
    "basic auth": lambda g: ("https://user:{}@example.com/x", g.some(12)),
    "Cloudant": lambda g: ("https://owner:{}@owner.cloudant.com", g.some(24, LOWER)),
    "Discord": lambda g: ("{}", "MT" + g.some(24) + "." + g.some(6) + "." + g.some(27)),
    "GitHub": lambda g: ("{}", g.one("ghp", "gho", "ghu", "ghs", "ghr") + "_" + g.some(36)),
    "GitLab": lambda g: ("{}", "glpat-" + g.some(20)),
    "IBM Cloud IAM": lambda g: ('ibm_cloud_api_key="{}"', g.some(44)),
    "IBM COS": lambda g: ('cos_hmac_secret_access_key="{}"', g.some(48, HEX)),
    "JSON web token": lambda g: (
        "{}",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + g.some(43),
    ),
    "Mailchimp": lambda g: ("{}", g.some(32, HEX) + "-us" + g.some(1, "123456789")),
    "npm": lambda g: ("//registry.npmjs.org/:_authToken={}", "npm_" + g.some(36)),
    "OpenAI": lambda g: ("{}", "sk-" + g.some(20) + "T3BlbkFJ" + g.some(20)),
    "OpenAI project": lambda g: ("{}", "sk-proj-" + g.some(20) + "T3BlbkFJ" + g.some(20)),
    "password": lambda g: ('password = "{}"', g.some(16)),
    "private key": lambda g: (
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        g.some(64, PEM) + "\n" + g.some(64, PEM),
    ),
    "PyPI": lambda g: ("{}", "pypi-AgEIcHlwaS5vcmc" + g.some(72)),
    "TestPyPI": lambda g: ("{}", "pypi-AgENdGVzdC5weXBpLm9yZw" + g.some(72)),
    "SendGrid": lambda g: ("{}", "SG." + g.some(22) + "." + g.some(43)),
    "Slack": lambda g: ("{}", "xoxb-" + g.some(12, "123456789") + "-" + g.some(12, "123456789") + "-" + g.some(24)),
    "Slack webhook": lambda g: ("https://hooks.slack.com/services/{}", f"T{g.some(8)}/B{g.some(8)}/{g.some(24)}"),
    "SoftLayer": lambda g: ("https://api.softlayer.com/soap/v3/{}", g.some(64, LOWER)),
    "Square": lambda g: ("{}", "sq0csp-" + g.some(43)),
    "Stripe": lambda g: ("{}", g.one("r", "s") + "k_live_" + g.some(24)),
    "Telegram": lambda g: ("{}", g.some(9, "123456789") + ":AA" + g.some(33)),
    "Twilio": lambda g: ("{}", "SK" + g.some(32, HEX)),
}


@table("name", FORMATS)
def test_each_format_is_found(name: str) -> None:
    for seed in range(20):
        frame, secret = FORMATS[name](Generator(seed))
        for text in (frame.format(secret), f"the value is\n  {frame.format(secret)}\nand more"):
            left = text
            for span in reversed(SecretScanner().find(text)):
                left = left[: span.start] + left[span.end :]
            assert secret not in left, text
