"""112 forms of secrets in places where form or name tells: at least 99 in 100 are hidden. All values are made up.

First the 25 places that people know, then those where the name stands behind something else, or on a line above.
"""

import random
import re
import sysconfig
from itertools import product
from pathlib import Path

import pytest

from gitnexus.redaction import Redactor, redact
from gitnexus.redaction.shape import ALPHABETS

# In the notation of gitnexus/redaction/shape.py. Above, the form tells; below, only the name does.
FORMS = """
github-classic ghp_{w36}|github-oauth gho_{w36}|github-user ghu_{w36}|github-server ghs_{w36}
github-refresh ghr_{w36}|github-fine github_pat_{w22}_{w59}|gitlab-pat glpat-{b20}|gitlab-deploy gldt-{b20}
gitlab-runner glrt-{b20}|gitlab-trigger glptt-{x40}|gitlab-feed glft-{b20}|bitbucket-app ATBB{w32}
atlassian ATATT3xFfG{w170}={X8}|sourcegraph sgp_{x40}|npm npm_{w36}|pypi pypi-AgEIcHlwaS5vcmc{b100}
rubygems rubygems_{x48}|crates cio{w32}|dockerhub dckr_pat_{b27}|packagist packagist_uut_{x68}
clojars CLOJARS_{x60}|jfrog AKCp{w69}|nuget oy2{l43}|aws-key AKIA{A16}|aws-temporary ASIA{A16}|google-api AIza{b35}
google-oauth GOCSPX-{b28}|google-refresh 1//0{b60}|google-access ya29.{b120}|digitalocean dop_v1_{x64}
digitalocean-oauth doo_v1_{x64}|digitalocean-refresh dor_v1_{x64}|fly-io fo1_{b43}|heroku-new HRKU-AA{b58}
pulumi pul-{x40}|terraform {w14}.atlasv1.{b67}|vault hvs.{b90}|vault-batch hvb.{b140}|doppler-personal dp.pt.{w43}
doppler-service dp.st.prd.{w43}|cloudflare-ca v1.0-{x24}-{x146}|alibaba LTAI{w20}|databricks dapi{x32}
planetscale-token pscale_tkn_{b43}|planetscale-password pscale_pw_{b43}|supabase sbp_{x40}
openai-old sk-{w20}T3BlbkFJ{w20}|openai-project sk-proj-{b74}T3BlbkFJ{b74}|anthropic sk-ant-api03-{b93}AA
anthropic-admin sk-ant-admin01-{b93}AA|huggingface hf_{w34}|replicate r8_{w37}|groq gsk_{w52}|perplexity pplx-{w48}
openrouter sk-or-v1-{x64}|xai xai-{w80}|langsmith lsv2_pt_{x32}_{x10}|nvidia nvapi-{b64}
slack-bot xoxb-{d12}-{d12}-{w24}|slack-user xoxp-{d12}-{d12}-{d12}-{x32}|slack-app xapp-1-A{U10}-{d13}-{x64}
telegram {d10}:AA{b33}|discord M{w23}.{w6}.{b38}|sendgrid SG.{b22}.{b43}|mailgun key-{x32}|resend re_{w8}_{w24}
brevo xkeysib-{x64}-{w16}|postman PMAK-{x24}-{x34}|shopify shpat_{x32}|shopify-secret shpss_{x32}
twilio-key SK{x32}|stripe-live sk_live_{w24}|stripe-restricted rk_live_{w24}|stripe-test sk_test_{w24}
stripe-webhook whsec_{w32}|square-access EAAA{b60}|square-secret sq0csp-{b43}|razorpay rzp_live_{w14}
flutterwave FLWSECK_TEST-{x32}-X|newrelic NRAK-{U27}|grafana-cloud glc_{w60}|grafana-service glsa_{w32}_{x8}
sentry sntrys_{w80}|dynatrace dt0c01.{U24}.{U64}|linear lin_api_{w40}|notion ntn_{w46}|airtable pat{w14}.{x64}
figma figd_{b40}|asana 1/{d16}:{x32}|age AGE-SECRET-KEY-1{U58}|easypost EZAK{w54}|prefect pnu_{l36}
readme rdme_{l70}|duffel duffel_live_{b43}|datadog {x32}|datadog-app {x40}|aws-secret {s40}|azure-storage {s86}==
heroku-old {uuid}|twilio-auth {x32}|fastly {b32}|cloudflare {b40}|mailchimp {x32}-us12|algolia {x32}
mapbox-like {w64}|generic-hex {x64}|generic-base64 {s44}|okta 00{b40}|circleci {x40}|pagerduty {b20}|rollbar {x32}
segment {w32}
"""
PLACES = (
    "github_token: {}",
    '  api_key: "{}"',
    "secret_key={}",
    "export FOO_TOKEN={}",
    "encryption_key = {}",
    'password = "{}"',
    '{{"user": "ci", "access_token": "{}", "n": 1}}',
    '"body": "{{\\"token\\": \\"{}\\"}}"',
    "FOO_SECRET={}",
    'FOO_API_KEY="{}"',
    'client = Client(host, token="{}")',
    "const apiKey = '{}';",
    'authToken := "{}"',
    "Authorization: Bearer {}",
    "X-Api-Key: {}",
    'curl -H "Authorization: token {}" https://api.example/v1',
    "GET https://api.example/x?access_token={}&y=1",
    "git clone https://ci:{}@git.example/a.git",
    "tool --token {} --verbose",
    "tool --api-key={}",
    "aws_secret_access_key = {}",
    "<password>{}</password>",
    "ENV APP_TOKEN={}",
    "service.auth.token={}",
    'client_secret = "{}"',
)
# What prints before the name, or between it and the value: logs, searches, diffs, build files, markup, other languages.
BEHIND = (
    "DEBUG: api_key={}",
    "config.yml:3:github_token: {}",
    "config.yml-4-  github_token: {}",
    "ENV DB_PASSWORD {}",
    "ARG NPM_TOKEN={}",
    "+github_token: {}",
    "-    github_token: {}",
    "2026-11-18 12:00 INFO secret_key={}",
    "2026-11-18T12:00:00Z level=info msg=started api_key={} port=80",
    "[worker-3] retry with password {} in 3 s",
    "set FOO_TOKEN {}",
    "set -gx FOO_TOKEN {}",
    "setenv FOO_TOKEN {}",
    "$env:FOO_TOKEN = '{}'",
    "SetEnv FOO_TOKEN {}",
    "fastcgi_param DB_PASSWORD {};",
    "docker run -e FOO_TOKEN={} image",
    "kubectl create secret generic x --from-literal=password={}",
    "java -Dservice.api.key={} -jar a.jar",
    "tool --password {}",
    "mysql -u root -p{} app",
    "<password>{}</password>",
    '<add key="ApiToken" value="{}" />',
    '<string name="api_key">{}</string>',
    '<input type="hidden" name="csrf_token" value="{}">',
    "machine h login l password {}",
    "  password   =   {}",
    "db.password {}",
    "spring.datasource.password={}",
    r'{{"body": "{{\"api_key\": \"{}\", \"n\": 1}}"}}',
    r'"{{\\\"secret\\\":\\\"{}\\\"}}"',
    "settings = dict(host='h', api_key='{}', port=1)",
    "{{'user': 'ci', 'password': '{}', 'n': 1}}",
    "{{'password': b'{}'}}",
    'os.environ["FOO_TOKEN"] = "{}"',
    "os.environ.setdefault('FOO_TOKEN', '{}')",
    'db_password = "{}" # tfvars',
    'variable "db_password" {{ default = "{}" }}',
    '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "- {{ name: DB_PASSWORD, value: {} }}",
    "define('AUTH_KEY', '{}');",
    'config :app, secret_key_base: "{}"',
    'let token = String::from("{}");',
    ':api-key "{}"',
    "(access_token {})",
    "git config http.extraheader.token {}",
    "  - name: DB_PASSWORD\n    value: {}",
    '  - name: DB_PASSWORD\n    value: "{}"',
    '  {{\n    "name": "DB_PASSWORD",\n    "value": "{}"\n  }}',
    "  <key>ApiToken</key>\n  <string>{}</string>",
    'variable "db_password" {{\n  type = string\n  default = "{}"\n}}',
    "db_password: |\n  {}",
    "api_key=\\\n    {}",
    "args:\n  - --token\n  - {}",
    'api_key = (\n    "{}"\n)',
    "ParameterKey: DbPassword\n  ParameterValue: {}",
    "a.yml:7:  - name: DB_PASSWORD\na.yml:8:    value: {}",
    "+  - name: DB_PASSWORD\n+    value: {}",
    "pass: {}",
    "  pass={}",
    "DB_PASS: {}",
    "GITLAB_PAT={}",
    "the api key is {}",
    '{{"user": "ci", "pass": "{}"}}',
    '"password":\n    "{}"',
)
# Lines of logs with a password that a person chose: its form tells nothing, the name stands anywhere.
LOGGED = (
    "DEBUG: api_key={}",
    "DEBUG:root:password={}",
    "DEBUG - secret_key = {}",
    "DEBUG - secret_key -> {}",
    "INFO root: db_password={}",
    "2026-11-18 10:00:00,123 DEBUG app.main secret_key={}",
    "[debug] token={}",
    "time=1 level=debug db_password={} port=80",
    'level=debug msg="log in" password={}',
    "DEBUG: using password: {}",
    "worker_1  | API_TOKEN: {}",
    "<14>Nov 18 12:00:00 host app[1]: password={}",
    "(api_key={})",
    "config loaded: api_key={}, port=80",
    "config loaded: password={}; port=80",
    "log in as me with password={}...",
    "E   AssertionError: password={}",
    "I1118 12:00:00.000 1 main.go:3] api_key={}",
    '{{"level": "debug", "msg": "api_key={}"}}',
)
CHOSEN = ("hunter" + "22", "Tr0ub4" + "dor3", "S3cr3tS" + "auce9", "x9!Lm2@Vb", "correct7horse", "q8Zr2Lm4Tx0V",
          "Summer2024" + "Rain", "hunter2zz" + "99Qq")  # fmt: skip
STEPS = pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow(seconds=6))])
_PART = re.compile(r"\{([a-zA-Z])(\d+)\}")


def forms() -> list[tuple[str, str]]:
    rows = [row.split(" ", 1) for line in FORMS.strip().splitlines() for row in line.split("|")]
    return [(row[0], row[1]) for row in rows]


def made_up(shape: str, source: random.Random) -> str:
    """Return a text of the shape: random letters of its alphabets."""
    shape = shape.replace("{uuid}", "{x8}-{x4}-{x4}-{x4}-{x12}")

    def some(part: re.Match[str]) -> str:
        pattern = re.compile(f"[{ALPHABETS[part[1]][0]}]")
        letters = [chr(code) for code in range(33, 127) if pattern.match(chr(code))]
        return "".join(source.choices(letters, k=int(part[2])))

    return _PART.sub(some, shape)


def missed_in(places: tuple[str, ...], step: int) -> list[tuple[str, str]]:
    """Return the forms and places of the secrets of which twelve letters in a row are still to be seen.

    `step` 1 tries every form in every place, 7 one in seven of these pairs: each form, and each place.
    """
    source = random.Random(20)
    pairs = list(product(forms(), places))[::step]
    assert {place for _, place in pairs} == set(places)
    assert {form for form, _ in pairs} == set(forms())
    rows = [(name, place, made_up(shape, source)) for (name, shape), place in pairs]
    texts = "\n\n".join(place.format(value) for _, place, value in rows)
    shown = iter(redact(texts).text.split("\n\n"))
    return [
        (name, place)
        for (name, place, value), text in zip(rows, shown, strict=True)
        if any(value[at : at + 12] in text for at in range(0, len(value) - 11, 4))
    ]


def test_there_are_112_forms_in_25_places_and_as_many_again() -> None:
    assert (len(forms()), len(set(PLACES))) == (112, 25)
    assert len(set(BEHIND)) == len(BEHIND) >= 50


@STEPS
def test_at_least_99_in_100_secrets_are_hidden_where_form_or_name_tells(step: int) -> None:
    missed = missed_in(PLACES, step)

    assert len(missed) * step / (112 * len(PLACES)) <= 0.01, sorted(missed, key=lambda row: row[1])


@STEPS
def test_at_least_99_in_100_secrets_are_hidden_where_the_name_stands_behind_something_or_above(step: int) -> None:
    missed = missed_in(BEHIND, step)

    assert len(missed) * step / (112 * len(BEHIND)) <= 0.01, sorted(missed, key=lambda row: row[1])


@pytest.mark.parametrize("place", LOGGED)
def test_a_password_of_no_form_is_hidden_wherever_a_log_names_it(place: str) -> None:
    assert [value for value in CHOSEN if value in redact(place.format(value)).text] == []


@pytest.mark.slow
def test_of_lines_of_real_code_less_than_1_in_10_000_is_taken_for_a_secret() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    files = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    lines = hidden = 0

    for path in files[::3]:
        text = path.read_bytes()
        lines += text.count(b"\n")
        stream = Redactor()
        stream.feed(text)
        stream.finish()
        hidden += sum(each.count for each in stream.hidden)

    assert lines > 100_000
    assert hidden * 10_000 < lines, (hidden, lines)
