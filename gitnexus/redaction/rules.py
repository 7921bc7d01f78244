"""The rules: a name, the words that must stand in a line for the rule to be worth trying, and the pattern."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`keywords` are lower case; the pattern's group `secret`, if it has one, is the part that is masked."""

    name: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    example: str


def _rule(name: str, keywords: str, pattern: str, example: str) -> Rule:
    return Rule(name, tuple(keywords.lower().split()), re.compile(pattern), example)


_END = r"(?![A-Za-z0-9_-])"

# Examples are built from pieces so that no scanner, ours included, takes this file for a leak.
RULES: tuple[Rule, ...] = (
    _rule("aws-access-key-id", "akia asia", rf"\b(?:AKIA|ASIA)[A-Z2-7]{{16}}{_END}", "AKIA" + "QXZ7" * 4),
    _rule("aws-secret-access-key", "secret", r"(?i)aws.{0,9}secret.{0,20}[=:]\s*[\"']?(?P<secret>[A-Za-z0-9/+]{40})\b",
          "aws_secret_access_key = " + "wJalrXUt" * 5),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"\bgh[pousr]_[A-Za-z0-9]{{36,255}}{_END}",
          "ghp_" + "a1B2c3" * 6),
    _rule("github-fine-grained-token", "github_pat_", rf"\bgithub_pat_[A-Za-z0-9_]{{50,255}}{_END}",
          "github_pat_" + "11ABCDE_" * 8),
    _rule("gitlab-token", "glpat-", rf"\bglpat-[A-Za-z0-9_-]{{20,64}}{_END}", "glpat-" + "x1Y2z" * 4),
    _rule("slack-token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}", "xoxb-" + "1234567890-" * 3),
    _rule("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{18,}",
          "hooks.slack.com/services/" + "T00000000/B00000000/" + "X" * 24),
    _rule("stripe-key", "sk_live_ rk_live_", rf"\b[sr]k_live_[A-Za-z0-9]{{16,247}}{_END}", "sk_live_" + "4eC39HqL" * 3),
    _rule("anthropic-key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{32,}", "sk-ant-" + "api03-" + "a1B2" * 12),
    _rule("openai-key", "sk-", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}",
          "sk-" + "a1B2c" * 4 + "T3BlbkFJ" + "a1B2c" * 4),
    _rule("google-api-key", "aiza", rf"\bAIza[A-Za-z0-9_-]{{35}}{_END}", "AIza" + "Sy1_a" * 7),
    _rule("npm-token", "npm_", rf"\bnpm_[A-Za-z0-9]{{36}}{_END}", "npm_" + "a1B2c3" * 6),
    _rule("pypi-token", "pypi-agei", r"\bpypi-AgEI[A-Za-z0-9_-]{50,}", "pypi-AgEI" + "cHlwaS5v" * 8),
    _rule("sendgrid-key", "sg.", rf"\bSG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_END}",
          "SG." + "a1B2c3D4e5F" * 2 + "." + "a1B2c3D4e5F6g7H8i9J0k" * 2 + "x"),
    _rule("digitalocean-token", "dop_v1_", r"\bdop_v1_[a-f0-9]{64}\b", "dop_v1_" + "0a1b2c3d" * 8),
    _rule("huggingface-token", "hf_", rf"\bhf_[A-Za-z0-9]{{34,}}{_END}", "hf_" + "aBcDeF" * 6),
    _rule("age-secret-key", "age-secret-key-", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
          "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7 + "GF"),
    _rule("private-key", "private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
          "-----BEGIN RSA " + "PRIVATE KEY-----"),
    _rule("json-web-token", "eyj", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
          "eyJ" + "hbGciOiJI" * 2 + ".eyJ" + "zdWIiOiIx" * 2 + "." + "abcDEF123" * 3),
    _rule("password-in-url", "://", r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"'<>{}$]*:(?P<secret>[^\s/:@\"'<>{}$]{3,})@[\w.-]+",
          "postgres://app:" + "hunter22" + "@db.internal/app"),
    _rule("assigned-secret", "secret passw token api_key apikey api-key",
          r"(?i)(?:secret|passw(?:or)?d|token|api[_-]?key)[\"']?\s*[:=]\s*[\"'](?P<secret>[^\s\"'<>{}$]{12,})[\"']",
          "api_key = '" + "Zq3x9Lm2Vb7T" + "'"),
)  # fmt: skip
