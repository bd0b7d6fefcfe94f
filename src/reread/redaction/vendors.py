"""The token formats that vendors publish. A format is one row; its source says where the vendor describes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from reread.redaction.words import words_regex

LONGEST = 512
"""A token that may have any length is matched up to this many characters; what continues it is cut off with it."""
LONGEST_BROKEN_KEYWORD = 12
AHEAD = 17_000
"""How far behind a keyword a secret may end."""


class Vendor(NamedTuple):
    """One published format of a secret."""

    name: str
    """Its name in findings and replacements."""
    keywords: str
    """Texts, separated by spaces, of which every such secret contains one; the scan looks for these first."""
    pattern: str
    """A regular expression for the whole secret, or with one group for it."""
    source: str
    """Where the format is published."""
    before: int = 0
    """How many characters of the secret, or of what leads to it, stand before the keyword."""
    closing: str = ""
    """A text without which no secret of this kind ends."""


_BOUNDARY = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=[\[;0-9]m)"
    r"|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2}))"
)
"""Where a secret may begin: after anything but a letter or digit, or after an escape or a colour."""
_ESCAPED_START = r"(?:\\(?:[nrtbf]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}|[\[;][0-9]{0,3}m)"
"""Escapes and colours that end with a letter or digit."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ANY = rf",{LONGEST}}}"

# fmt: off
VENDORS: tuple[Vendor, ...] = (
    # models and agents
    Vendor("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{2,9}\d{2}-[\w-]{20" + _ANY, "https://docs.claude.com/en/api/overview"),
    Vendor("openai-key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20" + _ANY + r"|[A-Za-z0-9]{32,64})", "https://platform.openai.com/docs/api-reference/authentication"),
    Vendor("openrouter-key", "sk-or-", r"sk-or-v1-[0-9a-f]{64}", "https://openrouter.ai/docs/api-reference/authentication"),
    Vendor("langfuse-key", "sk-lf-", rf"sk-lf-{_UUID}", "https://langfuse.com/docs/api"),
    Vendor("helicone-key", "sk-helicone-", r"sk-helicone-[a-z0-9]{7}(?:-[a-z0-9]{7}){3}", "https://docs.helicone.ai/helicone-headers/helicone-auth"),
    Vendor("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", "https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key"),
    Vendor("hugging-face-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}", "https://huggingface.co/docs/hub/security-tokens"),
    Vendor("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}", "https://replicate.com/docs/topics/security/api-tokens"),
    Vendor("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{52}", "https://console.groq.com/docs/quickstart"),
    Vendor("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}", "https://docs.x.ai/docs/overview"),
    Vendor("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,64}", "https://docs.perplexity.ai/guides/getting-started"),
    Vendor("together-key", "tgp_v1_", r"tgp_v1_[\w-]{43}", "https://docs.together.ai/docs/quickstart"),
    Vendor("cerebras-key", "csk-", r"csk-[a-z0-9]{48}", "https://inference-docs.cerebras.ai/quickstart"),
    Vendor("nvidia-key", "nvapi-", r"nvapi-[\w-]{64,70}", "https://docs.api.nvidia.com"),
    Vendor("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}", "https://docs.pinecone.io/guides/production/security-overview"),
    Vendor("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}", "https://docs.tavily.com/documentation/api-reference/introduction"),
    Vendor("firecrawl-key", "fc-", r"fc-[0-9a-f]{32}", "https://docs.firecrawl.dev/api-reference/introduction"),
    Vendor("elevenlabs-key", "sk_", r"sk_[0-9a-f]{48}", "https://elevenlabs.io/docs/api-reference/authentication"),
    Vendor("jina-key", "jina_", r"jina_[0-9a-f]{32}[\w-]{28}", "https://jina.ai/reader"),
    Vendor("apify-token", "apify_api_", r"apify_api_[A-Za-z0-9]{36}", "https://docs.apify.com/platform/integrations/api"),
    # code and packages
    Vendor("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{60,255})", "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/"),
    Vendor("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-[\w-]{20,64}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?", "https://docs.gitlab.com/security/tokens/#token-prefixes"),
    Vendor("bitbucket-token", "ATBB ATCTT3", r"(?:ATBB[A-Za-z0-9]{32}|ATCTT3[\w=-]{60" + _ANY + ")", "https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/"),
    Vendor("atlassian-token", "ATATT3", r"ATATT3[\w=-]{60" + _ANY, "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/"),
    Vendor("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}", "https://github.blog/2021-09-23-announcing-npms-new-access-token-format/"),
    Vendor("pypi-token", "pypi-Ag", r"pypi-Ag[\w-]{50" + _ANY, "https://pypi.org/help/#apitoken"),
    Vendor("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}", "https://guides.rubygems.org/api-key-scopes/"),
    Vendor("crates-token", "cio", r"cio[A-Za-z0-9]{32}", "https://crates.io/settings/tokens"),
    Vendor("nuget-key", "oy2", r"oy2[a-z0-9]{43}", "https://learn.microsoft.com/nuget/nuget-org/scoped-api-keys"),
    Vendor("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{27,40}", "https://docs.docker.com/security/access-tokens/"),
    Vendor("artifactory-key", "AKCp cmVmdGtu", r"(?:AKCp[A-Za-z0-9]{36,72}|cmVmdGtu[A-Za-z0-9]{56})", "https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens"),
    Vendor("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}", "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
    Vendor("sourcegraph-token", "sgp_", r"sgp_(?:(?:[A-Za-z0-9]{16}|local)_)?[0-9a-f]{40}", "https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token"),
    Vendor("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}", "https://buildkite.com/docs/platform/security/tokens"),
    Vendor("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}", "https://circleci.com/docs/managing-api-tokens/"),
    Vendor("sonarqube-token", "sqa_ sqp_ squ_", r"sq[apu]_[0-9a-f]{40}", "https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/"),
    Vendor("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "https://learning.postman.com/docs/developer/postman-api/authentication/"),
    Vendor("jetbrains-token", "perm- perm:", r"perm[-:][A-Za-z0-9+/=]{4,80}\.[A-Za-z0-9+/=]{4,80}\.[A-Za-z0-9]{20,80}", "https://www.jetbrains.com/help/youtrack/devportal/Manage-Permanent-Token.html"),
    # clouds
    Vendor("aws-access-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"),
    Vendor("aws-secret-key", "aws_secret_access_key AWS_SECRET_ACCESS_KEY SecretAccessKey secretAccessKey aws_secret_key", r"(?i:aws_secret_access_key|aws_secret_key|SecretAccessKey)[\s\"'\\:=,\x1e>]{1,12}([A-Za-z0-9/+]{40})", "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html"),
    Vendor("aws-session-token", "aws_session_token AWS_SESSION_TOKEN SessionToken", r"(?i:aws_session_token|SessionToken)[\s\"'\\:=,\x1e>]{1,12}([A-Za-z0-9/+=]{100,2048})", "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp.html"),
    Vendor("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}", "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html"),
    Vendor("google-api-key", "AIza", r"AIza[\w-]{35}", "https://cloud.google.com/docs/authentication/api-keys"),
    Vendor("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28}", "https://developers.google.com/identity/protocols/oauth2"),
    Vendor("google-oauth-token", "ya29. 1//0", r"(?:ya29\.[\w-]{20" + _ANY + r"|1//0[\w-]{40,256})", "https://developers.google.com/identity/protocols/oauth2#size"),
    Vendor("azure-storage-key", "AccountKey= SharedAccessKey=", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)", "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string"),
    Vendor("azure-client-secret", "Q~", r"[\w.~-]{3}\dQ~[\w.~-]{31,34}", "https://learn.microsoft.com/purview/sit-defn-azure-ad-client-secret", before=4),
    Vendor("azure-devops-token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", "https://learn.microsoft.com/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate", before=76),
    Vendor("azure-ai-key", "JQQJ99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}", "https://learn.microsoft.com/purview/sit-defn-azure-cognitive-services-key", before=52),
    Vendor("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}", "https://docs.digitalocean.com/reference/api/create-personal-access-token/"),
    Vendor("heroku-key", "HRKU-", r"HRKU-[\w-]{36,64}", "https://devcenter.heroku.com/articles/authentication"),
    Vendor("netlify-token", "nfp_ nfc_ nfo_ nfb_", r"nf[pcob]_[A-Za-z0-9_]{36}", "https://docs.netlify.com/api/get-started/"),
    Vendor("fly-token", "fm2_ fm1r_ fm1a_ fo1_", r"(?:fm2_|fm1[ar]_)[A-Za-z0-9+/]{80" + _ANY + r"={0,3}|fo1_[\w-]{43}", "https://fly.io/docs/security/tokens/"),
    Vendor("render-key", "rnd_", r"rnd_[A-Za-z0-9]{28,36}", "https://render.com/docs/api"),
    Vendor("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{31,40})", "https://supabase.com/docs/guides/api/api-keys"),
    Vendor("planetscale-secret", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "https://planetscale.com/docs/concepts/planetscale-api-oauth-applications"),
    Vendor("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?", "https://docs.databricks.com/dev-tools/auth/pat.html"),
    Vendor("cloudflare-token", "cfut_ cfat_ cfk_", r"cf(?:ut|at|k)_[A-Za-z0-9]{40}[0-9a-f]{8}", "https://developers.cloudflare.com/fundamentals/api/get-started/token-formats/"),
    Vendor("cloudflare-origin-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}", "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/"),
    Vendor("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{12,26}", "https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair"),
    Vendor("tencent-key", "AKID", r"AKID[A-Za-z0-9]{32}", "https://www.tencentcloud.com/document/product/598/32675"),
    Vendor("yandex-key", "AQVN", r"AQVN[\w-]{35,38}", "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key"),
    Vendor("openshift-token", "sha256~", r"sha256~[\w-]{43}", "https://docs.openshift.com/container-platform/latest/authentication/understanding-authentication.html"),
    Vendor("tailscale-key", "tskey-", r"tskey-[a-z]{3,9}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16,64}", "https://tailscale.com/kb/1085/auth-keys"),
    # secrets and configuration
    Vendor("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,300}", "https://developer.hashicorp.com/vault/docs/concepts/tokens"),
    Vendor("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}", "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens", before=14),
    Vendor("pulumi-token", "pul-", r"pul-[0-9a-f]{40}", "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/"),
    Vendor("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", "https://docs.doppler.com/reference/auth-token-formats"),
    Vendor("onepassword-token", "ops_eyJ A3-", r"(?:ops_eyJ[\w+/=-]{100,2000}|A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-[A-Z0-9]{5}){4})", "https://developer.1password.com/docs/service-accounts/"),
    Vendor("infracost-key", "ico-", r"ico-[A-Za-z0-9]{32}", "https://www.infracost.io/docs/features/environment_variables/"),
    Vendor("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}", "https://docs.prefect.io/v3/manage/cloud/manage-users/api-keys"),
    Vendor("launchdarkly-key", "sdk- api- mob-", rf"(?:sdk|api|mob)-{_UUID}", "https://docs.launchdarkly.com/home/account/api"),
    # messages and mail
    Vendor("slack-token", "xoxa- xoxb- xoxp- xoxo- xoxs- xoxr- xoxe- xoxe. xoxc- xoxd- xapp-", r"(?:xox(?:[abposrecd]-|e\.)(?:xox[bp]-)?[\w%/+=-]{10,300}|xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[0-9a-f]{32,80})", "https://docs.slack.dev/authentication/tokens"),
    Vendor("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{24,100})", "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
    Vendor("discord-webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(\d{17,20}/[\w-]{60,80})", "https://discord.com/developers/docs/resources/webhook", before=14),
    Vendor("discord-token", "MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz", r"[MNO][DTjz][A-Za-z0-9]{22,26}\.[\w-]{6}\.[\w-]{27,38}", "https://discord.com/developers/docs/reference#authentication"),
    Vendor("telegram-token", ":AA", r"\d{8,10}:AA[\w-]{32,33}", "https://core.telegram.org/bots/api#authorizing-your-bot", before=10),
    Vendor("teams-webhook", ".webhook.office.com/", r"[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/([\w@/-]{80,200})", "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook", before=60),
    Vendor("softlayer-key", "api.softlayer.com/", r"api\.softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{64})", "https://sldn.softlayer.com/reference/soapapi/"),
    Vendor("twilio-key", "SK", r"SK[0-9a-f]{32}", "https://www.twilio.com/docs/iam/api-keys"),
    Vendor("sendgrid-key", "SG.", r"SG\.[\w-]{20,24}\.[\w-]{39,50}", "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"),
    Vendor("mailgun-key", "key-", r"key-[0-9a-f]{32}", "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth"),
    Vendor("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}", "https://mailchimp.com/developer/marketing/guides/quick-start/", before=32),
    Vendor("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "https://developers.brevo.com/docs/getting-started"),
    Vendor("mailersend-key", "mlsn.", r"mlsn\.[0-9a-f]{64}", "https://developers.mailersend.com/general.html#authentication"),
    Vendor("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", "https://resend.com/docs/api-reference/introduction"),
    # money
    Vendor("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/]{32,64}={0,2})", "https://docs.stripe.com/keys"),
    Vendor("square-token", "sq0atp- sq0csp- EAAA", r"(?:sq0atp-[\w-]{22}|sq0csp-[\w-]{43}|EAAA[\w-]{60})", "https://developer.squareup.com/docs/build-basics/access-tokens"),
    Vendor("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "https://shopify.dev/docs/apps/build/authentication-authorization"),
    Vendor("braintree-token", "access_token$production$", r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}", "https://developer.paypal.com/braintree/articles/control-panel/important-gateway-credentials"),
    Vendor("plaid-token", "access-sandbox- access-production- access-development-", rf"access-(?:sandbox|development|production)-{_UUID}", "https://plaid.com/docs/api/items/"),
    Vendor("razorpay-key", "rzp_live_ rzp_test_", r"rzp_(?:live|test)_[A-Za-z0-9]{14}", "https://razorpay.com/docs/api/authentication/"),
    Vendor("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,36}-X", "https://developer.flutterwave.com/docs/authentication"),
    Vendor("shippo-token", "shippo_", r"shippo_(?:live|test)_[0-9a-f]{40}", "https://docs.goshippo.com/docs/guides_general/authentication/"),
    Vendor("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}", "https://docs.easypost.com/docs/authentication"),
    Vendor("duffel-token", "duffel_", r"duffel_(?:test|live)_[\w=-]{43}", "https://duffel.com/docs/api/overview/authentication"),
    # work and data
    Vendor("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[0-9a-f]{64})", "https://linear.app/developers/graphql"),
    Vendor("notion-token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{43,50}|secret_[A-Za-z0-9]{43})", "https://developers.notion.com/page/changelog"),
    Vendor("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "https://airtable.com/developers/web/guides/personal-access-tokens"),
    Vendor("asana-token", "1/ 2/", r"[12]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}", "https://developers.asana.com/docs/personal-access-token"),
    Vendor("figma-token", "figd_ figo_", r"fig[do]_[\w-]{40,60}", "https://www.figma.com/developers/api#access-tokens"),
    Vendor("dropbox-token", "sl.", r"sl\.(?:u\.)?[\w-]{120" + _ANY, "https://developers.dropbox.com/oauth-guide"),
    Vendor("hubspot-token", "pat-na pat-eu pat-ap", rf"pat-(?:na|eu|ap)\d-{_UUID}", "https://developers.hubspot.com/docs/apps/legacy-apps/private-apps/overview"),
    Vendor("typeform-token", "tfp_", r"tfp_[\w.=-]{40,64}", "https://www.typeform.com/developers/get-started/personal-access-token/"),
    Vendor("contentful-token", "CFPAT-", r"CFPAT-[\w-]{43}", "https://www.contentful.com/help/token-management/personal-access-tokens/"),
    Vendor("mapbox-token", "sk.eyJ", r"sk\.eyJ[\w-]{40,300}\.[\w-]{20,60}", "https://docs.mapbox.com/help/getting-started/access-tokens/"),
    Vendor("readme-key", "rdme_", r"rdme_[a-z0-9]{70}", "https://docs.readme.com/main/reference/intro/authentication"),
    Vendor("frameio-token", "fio-u-", r"fio-u-[\w=-]{64}", "https://developer.frame.io/docs/getting-started/authentication"),
    Vendor("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", "https://dev.maxmind.com/license-key-formats/", before=36),
    Vendor("facebook-token", "EAA", r"EAA[A-Za-z0-9]{90" + _ANY, "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/"),
    Vendor("twitter-bearer", "AAAAAAAAAAAAAAAAAAAA", r"A{20,24}[A-Za-z0-9%]{60,120}", "https://docs.x.com/fundamentals/authentication/oauth-2-0/bearer-tokens"),
    # watching
    Vendor("grafana-token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_eyJ[A-Za-z0-9+/]{40,400}={0,2})", "https://grafana.com/docs/grafana/latest/administration/service-accounts/"),
    Vendor("newrelic-key", "NRAK- NRJS- NRII- NRAL", r"(?:NRAK-[A-Z0-9]{27}|NRJS-[0-9a-f]{19}|NRII-[\w-]{32}|[0-9a-f]{36}NRAL)", "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/", before=36),
    Vendor("sentry-token", "sntrys_ sntryu_", r"(?:sntrys_eyJ[\w+/=]{40,500}|sntryu_[0-9a-f]{64})", "https://docs.sentry.io/account/auth-tokens/"),
    Vendor("posthog-key", "phx_ phs_", r"ph[xs]_[A-Za-z0-9]{43,48}", "https://posthog.com/docs/api"),
    Vendor("honeycomb-key", "hcaik_ hcxik_ hcxlk_ hcbik_", r"hc(?:aik|xik|xlk|bik)_[a-z0-9]{58}", "https://docs.honeycomb.io/configure/environments/manage-api-keys/"),
    Vendor("dynatrace-token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens"),
    Vendor("datadog-key", "DD_API_KEY DD_APP_KEY DATADOG_API_KEY DATADOG_APP_KEY dd_api_key dd_app_key datadog_api_key datadog_app_key dd-api-key DD-API-KEY", r"(?i:dd_api_key|dd_app_key|datadog_api_key|datadog_app_key|dd-api-key)[\s\"'\\:=,\x1e]{1,12}([0-9a-f]{40}|[0-9a-f]{32})", "https://docs.datadoghq.com/account_management/api-app-keys/"),
    # formats that belong to no vendor
    Vendor("private-key", "-----BEGIN", r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^\x1f-]++|-(?!----(?:BEGIN|END)))*-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----", "https://www.rfc-editor.org/rfc/rfc7468", closing="-----END"),
    Vendor("private-key-part", "-----BEGIN", r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^A-Za-z\x1f]{0,24}+(?:\\[nr])?+[A-Za-z0-9+/=]{16,80}+){1,400}", "https://www.rfc-editor.org/rfc/rfc7468"),
    Vendor("putty-key", "PuTTY-User-Key-File-", r"PuTTY-User-Key-File-[23]:[^\x1f]{1,6000}?Private-MAC: ?[0-9a-f]{40,64}", "https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html", closing="Private-MAC"),
    Vendor("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", "https://age-encryption.org/v1"),
    Vendor("json-web-token", "eyJ", r"eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{20,1000}", "https://www.rfc-editor.org/rfc/rfc7519"),
    Vendor("password-hash", "$1$ $5$ $6$ $apr1$ $2a$ $2b$ $2y$ $y$ $argon2", r"\$(?:(?:[156]|apr1)\$(?:rounds=\d{3,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86}|2[aby]\$\d\d\$[./A-Za-z0-9]{53}|y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,80}\$[./A-Za-z0-9]{43}|argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,8},t=\d{1,4},p=\d{1,3}\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{16,86})", "https://man7.org/linux/man-pages/man5/crypt.5.html"),
    # more services, by their prefixes
    Vendor("aikido-key", "AIK_", r"AIK_(?:CI|CLIENT|SECRET)_[A-Za-z0-9]{20,80}", "https://help.aikido.dev"),
    Vendor("alibaba-sts-key", "STS.", r"STS\.[A-Za-z0-9]{16,64}", "https://www.alibabacloud.com/help/en/ram/product-overview/what-is-sts"),
    Vendor("astra-token", "AstraCS:", r"AstraCS:[A-Za-z0-9:]{20,150}", "https://docs.datastax.com/en/astra-db-serverless/administration/manage-application-tokens.html"),
    Vendor("bitbucket-server-token", "BBDC-", r"BBDC-[A-Za-z0-9+/@_=-]{32,60}", "https://confluence.atlassian.com/bitbucketserver/http-access-tokens-939515499.html"),
    Vendor("buildkite-agent-token", "bkaa_ bkaj_ bkar_ bkct_ bkpt_", r"bk(?:aa|aj|ar|ct|pt)_[\w-]{40,340}", "https://buildkite.com/docs/agent/v3/tokens"),
    Vendor("canva-secret", "cnvca", r"cnvca[\w-]{51}", "https://www.canva.dev/docs/connect/authentication/"),
    Vendor("cartesia-key", "sk_car_", r"sk_car_[A-Za-z0-9_]{20,40}", "https://docs.cartesia.ai"),
    Vendor("cloudsmith-key", "csa_", r"csa_[0-9a-f]{30}[A-Za-z0-9]{6}", "https://docs.cloudsmith.com/accounts-and-teams/api-key"),
    Vendor("cockroach-key", "CCDB1_", r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}", "https://www.cockroachlabs.com/docs/cockroachcloud/managing-access"),
    Vendor("configcat-key", "configcat-sdk-1/", r"configcat-sdk-1/[\w-]{22}/[\w-]{22}", "https://configcat.com/docs/sdk-reference/overview/"),
    Vendor("deno-token", "ddp_ ddo_", r"dd[po]_[A-Za-z0-9]{36}", "https://docs.deno.com/deploy/"),
    Vendor("devcycle-key", "dvc_server_ dvc_client_ dvc_mobile_", r"dvc_(?:server|client|mobile)_[\w-]{8,64}", "https://docs.devcycle.com/essentials/keys"),
    Vendor("docker-swarm-token", "SWMTKN-1- SWMKEY-1-", r"SWM(?:TKN|KEY)-1-[A-Za-z0-9+/-]{40,100}", "https://docs.docker.com/engine/swarm/join-nodes/"),
    Vendor("elastic-key", "essu_", r"essu_[\w=-]{60,200}", "https://www.elastic.co/guide/en/cloud/current/ec-api-authentication.html"),
    Vendor("exoscale-key", "EXO", r"EXO[0-9a-f]{24,30}", "https://community.exoscale.com/product/iam/"),
    Vendor("gemini-key", "AQ.Ab8RN6", r"AQ\.Ab8RN6[\w-]{40,60}", "https://ai.google.dev/gemini-api/docs/api-key"),
    Vendor("gitlab-runner-token", "GR1348941", r"GR1348941[\w-]{20}", "https://docs.gitlab.com/security/tokens/"),
    Vendor("gitlab-session", "_gitlab_session=", r"_gitlab_session=([0-9a-z]{32})", "https://docs.gitlab.com/security/tokens/"),
    Vendor("harness-token", "pat. sat.", r"[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}", "https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys"),
    Vendor("ionic-token", "ion_", r"ion_[A-Za-z0-9]{42}", "https://ionic.io/docs/appflow/personal-access-tokens"),
    Vendor("llama-cloud-key", "llx-", r"llx-[A-Za-z0-9]{44,52}", "https://docs.cloud.llamaindex.ai"),
    Vendor("mailersend-token", "mlsn.", r"mlsn\.[A-Za-z0-9]{30,100}", "https://developers.mailersend.com"),
    Vendor("mergify-key", "mergify_application_key_", r"mergify_application_key_[\w-]{40,200}", "https://docs.mergify.com/api/"),
    Vendor("minimax-key", "sk-api-", r"sk-api-[\w-]{100,140}", "https://www.minimax.io/platform/document"),
    Vendor("mongodb-atlas-key", "mdb_sa_sk_ mdb_sa_id_", r"mdb_sa_(?:sk_[\w-]{40}|id_[0-9a-f]{24})", "https://www.mongodb.com/docs/atlas/api/service-accounts-overview/"),
    Vendor("neon-key", "napi_", r"napi_[A-Za-z0-9]{50,70}", "https://neon.com/docs/manage/api-keys"),
    Vendor("nylas-key", "nyk_", r"nyk_[A-Za-z0-9_]{60,72}", "https://developer.nylas.com"),
    Vendor("onesignal-key", "os_v2_", r"os_v2_(?:app|org)_[a-z2-7]{103}", "https://documentation.onesignal.com/docs/keys-and-ids"),
    Vendor("onfido-token", "api_live. api_live_us. api_live_ca.", r"api_live(?:_us|_ca)?\.[\w.-]{20,80}", "https://documentation.onfido.com/api/latest/#api-tokens"),
    Vendor("packagist-token", "packagist_", r"packagist_[a-z]{3}_[0-9a-f]{28,96}", "https://packagist.com/docs"),
    Vendor("paddle-key", "pdl_live_ pdl_sdbx_", r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}", "https://developer.paddle.com/api-reference/about/api-keys"),
    Vendor("persona-key", "persona_production_", r"persona_production_[\w-]{20,80}", "https://docs.withpersona.com/api-keys"),
    Vendor("pinterest-token", "pina_", r"pina_[A-Za-z0-9]{20,200}", "https://developers.pinterest.com/docs/getting-started/"),
    Vendor("polar-token", "polar_", r"polar_(?:at|oat|pat|rt|cs)_[A-Za-z0-9_-]{20,100}", "https://docs.polar.sh/api-reference"),
    Vendor("postman-collection-token", "PMAT-", r"PMAT-[A-Za-z0-9]{26}", "https://learning.postman.com/docs/developer/postman-api/authentication/"),
    Vendor("ramp-key", "ramp_id_ ramp_sec_", r"ramp_(?:id|sec)_[A-Za-z0-9]{40,48}", "https://docs.ramp.com"),
    Vendor("rootly-key", "rootly_", r"rootly_[0-9a-f]{64}", "https://docs.rootly.com"),
    Vendor("runpod-key", "rpa_", r"rpa_[A-Z0-9]{40}[A-Za-z0-9]{2,6}", "https://docs.runpod.io/get-started/api-keys"),
    Vendor("samsara-token", "samsara_api_", r"samsara_api_[A-Za-z0-9]{26,32}", "https://developers.samsara.com/docs/authentication"),
    Vendor("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", r"sm_[aps]at_[A-Za-z0-9]{16}", "https://console.settlemint.com/documentation/"),
    Vendor("unkey-key", "unkey_", r"unkey_[A-Za-z0-9]{20,32}", "https://www.unkey.com/docs"),
    Vendor("upcloud-token", "ucat_", r"ucat_[A-Za-z0-9]{24,32}", "https://upcloud.com/docs/guides/getting-started-upcloud-api/"),
    Vendor("val-town-token", "vtwn_", r"vtwn_[\w-]{20,80}", "https://docs.val.town/api/authentication/"),
    Vendor("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9_-]{56}", "https://vercel.com/docs/rest-api"),
    Vendor("wakatime-key", "waka_", r"waka_[a-z0-9]{8}-?[a-z0-9-]{28,64}", "https://wakatime.com/developers"),
    Vendor("wandb-key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{60,90}", "https://docs.wandb.ai"),
    Vendor("xendit-key", "xnd_production_ xnd_development_", r"xnd_(?:production|development)_[A-Za-z0-9]{48,80}", "https://docs.xendit.co"),
    Vendor("zuplo-key", "zpka_", r"zpka_[a-z0-9]{32}_[0-9a-f]{8}", "https://zuplo.com/docs/articles/api-key-management"),
)
# fmt: on


class VendorRule(NamedTuple):
    """A vendor's format, compiled."""

    name: str
    regex: re.Pattern[str]
    unbounded: re.Pattern[str]
    """The same, if letters and digits may touch the secret."""
    group: int
    """The group that is the secret."""
    before: int
    closing: str

    def match(self, text: str, at: int, *, bounded: bool = True) -> re.Match[str] | None:
        """Return the secret around the keyword at a position, if there is one."""
        end = at + AHEAD
        if self.closing and text.find(self.closing, at, end) < 0:
            return None
        regex = self.regex if bounded else self.unbounded
        return regex.search(text, max(0, at - self.before), end) if self.before else regex.match(text, at, end)


@cache
def compile_vendor(vendor: Vendor) -> VendorRule:
    """Return the rule for a vendor; no letter or digit may touch the secret, unless it is the end of an escape."""
    regex = re.compile(rf"{_BOUNDARY}(?:{vendor.pattern})(?![A-Za-z0-9])", re.ASCII)
    unbounded = re.compile(vendor.pattern, re.ASCII)
    return VendorRule(vendor.name, regex, unbounded, regex.groups, vendor.before, vendor.closing)


@cache
def keyword_regex() -> re.Pattern[str]:
    """Return a pattern that finds every keyword."""
    return words_regex(_vendors_by_keyword(), shortest=True)


@cache
def leading_keyword_regexes() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns that find, as their group, the keywords that begin a word, and those behind an escape.

    Most secrets begin with their keyword; most characters are no beginning of one.
    """
    leading = [word for word, vendors in _vendors_by_keyword().items() if not all(one.before for one in vendors)]
    letters = "".join(sorted({re.escape(word[0]) for word in leading}))
    keyword = rf"(?=[{letters}])(?=({words_regex(leading, shortest=True).pattern}))"
    return re.compile(rf"[^A-Za-z0-9]{keyword}"), re.compile(_ESCAPED_START + keyword)


@cache
def inner_keyword_regex() -> re.Pattern[str]:
    """Return a pattern that finds the keywords that stand within their secrets."""
    inner = [word for word, vendors in _vendors_by_keyword().items() if any(one.before for one in vendors)]
    return words_regex(inner, shortest=True)


@cache
def keyword_beginnings() -> frozenset[str]:
    """Return what a line may end with if a keyword is broken after it."""
    keywords = [keyword for keyword in _vendors_by_keyword() if len(keyword) <= LONGEST_BROKEN_KEYWORD]
    return frozenset(keyword[:n] for keyword in keywords for n in range(2, len(keyword)))


@cache
def rules_at(keyword: str) -> list[VendorRule]:
    """Return the rules of all keywords that begin with what `keyword_regex` found, compiled on first use."""
    found = (vendors for word, vendors in _vendors_by_keyword().items() if word.startswith(keyword))
    return [compile_vendor(vendor) for vendor in dict.fromkeys(vendor for vendors in found for vendor in vendors)]


def suspected_keywords(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place of keywords that may lead to a secret in a short text, compiling hardly any rule."""
    begins = re.compile(_BOUNDARY)
    for keyword, vendors in _vendors_by_keyword().items():
        at = text.find(keyword)
        while at >= 0:
            inner = (vendor for vendor in vendors if vendor.before)
            if begins.match(text, at) or any(compile_vendor(vendor).match(text, at) for vendor in inner):
                yield at, keyword
            at = text.find(keyword, at + 1)


@cache
def _vendors_by_keyword() -> dict[str, list[Vendor]]:
    found: dict[str, list[Vendor]] = {}
    for vendor in VENDORS:
        for keyword in vendor.keywords.split():
            found.setdefault(keyword, []).append(vendor)
    return found
