"""Built-in rules: secret files that agents never read, files that always ask, and forbidden environment variables."""

import re
from functools import cache, lru_cache

from gitnexus.git.shape import HOOKS
from gitnexus.policy.denied import DENIED, denied_by
from gitnexus.policy.paths import fold_path
from gitnexus.policy.patterns import WideMatcher

# Data of other processes. These are no repository files, so the patterns start at the root.
PROCESSES: tuple[str, ...] = ("proc/*/environ", "proc/*/mem", "proc/*/fd")
# Our own files: only our commands write there.
OURS: tuple[str, ...] = (".nexus/",)

# Paths that ask even if a wildcard rule allows them: tag and patterns.
ASKED: dict[str, tuple[str, ...]] = {
    "hooks": (".husky/", "githooks/", ".githooks/", *(f"**/hooks/{name}" for name in sorted(HOOKS)),
              ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook*.y*ml", ".lefthook*.y*ml",
              ".lefthook/", "lint-staged.config.*",
              ".lintstagedrc*", "**/.hg/hgrc"),
    "attributes": (".gitattributes", ".gitmodules", ".gitconfig", ".gitignore_global", ".lfsconfig", ".mailmap"),
    "ci": (".github/workflows/", ".github/actions/", "**/action.y*ml", ".gitlab-ci.y*ml", ".gitlab/", ".circleci/",
           ".travis.yml", "azure-pipelines.y*ml", "Jenkinsfile*", ".drone.y*ml", ".buildkite/", "appveyor.yml",
           "bitbucket-pipelines.yml", ".ci/", ".woodpecker/", ".woodpecker.y*ml", "cloudbuild.y*ml", ".teamcity/",
           ".github/dependabot.yml", "renovate.json"),
    "agent_config": (".claude/", ".codex/", ".gemini/", ".opencode/", "opencode.json*", ".mcp.json", ".cursor/",
                     ".windsurf/", ".aider*", "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".continue/"),
    "executes_later": (
        "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", ".yarnrc*", ".pnpmfile.cjs", "bun.lockb",
        "conftest.py", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py", "pytest.ini",
        "sitecustomize.py", "usercustomize.py", "*.pth", "poetry.lock", "uv.lock", "Pipfile*", "requirements*.txt",
        "Makefile", "GNUmakefile", "*.mk", "CMakeLists.txt", "*.cmake", "justfile", "Taskfile*.y*ml", "Rakefile*",
        "Gemfile*", "*.gemspec",
        "build.rs", "Cargo.toml", "Cargo.lock", ".cargo/", "build.gradle*", "settings.gradle*", "gradlew*", "pom.xml",
        "mvnw*", "go.mod", "go.sum", "Dockerfile*", "*.dockerfile", "docker-compose*.y*ml", "compose.y*ml", ".envrc",
        ".vscode/", ".idea/", ".devcontainer/", "*.code-workspace", "jest.config.*", "vitest.config.*", "vite.config.*",
        "webpack.config.*", "rollup.config.*", "babel.config.*", ".babelrc*", ".eslintrc*", "eslint.config.*",
        ".prettierrc*", "prettier.config.*", "karma.conf.*", "gulpfile.*", "Gruntfile.*", "tsup.config.*",
        ".mocharc.*", "composer.json",
        "composer.lock", "mix.exs", "rebar.config", "flake.nix", "default.nix", "shell.nix", ".tool-versions",
        ".python-version", ".nvmrc", "mise.toml", ".mise.toml", "Vagrantfile", "Procfile", ".editorconfig.py",
        "bunfig.toml", "uv.toml", "hatch.toml", "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8",
        ".pylintrc", "pylintrc", ".coveragerc", "conf.py", "ansible.cfg", "rust-toolchain*", "go.work", ".bundle/",
        ".mvn/",
        "CMakePresets.json", "meson.build", "build.ninja", ".bazelrc", "WORKSPACE", "MODULE.bazel", ".justfile",
        ".vimrc", ".exrc", ".nvimrc", ".gdbinit", ".lldbinit", ".nvim.lua", ".dir-locals*.el", ".Rprofile", ".Renviron",
        ".pdbrc", ".curlrc", ".wgetrc", ".inputrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
        ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", "deno.json*", ".pnp.*", "**/.yarn/plugins/",
        "**/.yarn/releases/", "pnpm-workspace.yaml", "**/node_modules/.bin/", "vitest.workspace.*",
        "playwright.config.*",
        "next.config.*", "tox.toml", "toxfile.py", ".pytest.ini", "pytest.toml", ".pytest.toml", "dodo.py", "doit.cfg",
        "tasks.py", "**/tasks/__init__.py", "invoke.yaml", "invoke.json", "invoke.py", "fabfile.py",
        "**/fabfile/__init__.py", "fabric.yaml", "SConstruct*", "SConscript", "Snakefile", "build.zig*", "build.sbt",
        "**/project/build.properties", "**/project/plugins.sbt", ".sbtopts", ".jvmopts", "Package.swift", "*.csproj",
        "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "Directory.*.props", "Directory.Build.*", "nuget.config",
        "global.json", "gems.rb", "*.rake", "gradle.properties", "init.gradle*", "gradle-wrapper.properties",
        "BUILD", "BUILD.bazel", "WORKSPACE.bazel", "**/tools/bazel", ".bazelversion", ".devcontainer.json", ".zed/",
        "cypress.config.*", "wdio.conf.*", "postcss.config.*", "tailwind.config.*", "turbo.json", "nx.json",
        "hatch_build.py", "pip.conf", "pdm.toml", "pants.toml", "wscript", ".proverc", ".ackrc", ".rspec", ".irbrc",
        ".pryrc", ".iex.exs", ".ghci", "project.clj", "dune", "dune-project", "*.tf", ".terraformrc", "configure",
        ".nycrc*", "nyc.config.*", "ava.config.*", "stylelint.config.*", ".stylelintrc*", "commitlint.config.*",
        ".commitlintrc*", "release.config.*", ".releaserc*", "astro.config.*", "nuxt.config.*", "svelte.config.*",
        "vue.config.*", "angular.json", "gatsby-config.*", "gatsby-node.*", "docusaurus.config.*", ".eleventy.js",
        "eleventy.config.*", ".storybook/", ".parcelrc", "nodemon.json", "ecosystem.config.*", "knexfile.*",
        "hardhat.config.*", "truffle-config.js", "metro.config.*", "serverless.y*ml", "serverless.js",
        "serverless.ts", "cdk.json", "Pulumi.y*ml", "wrangler.toml", "wrangler.json*", "phpunit*.xml*",
        ".php-cs-fixer*", "phpstan*.neon*", "psalm.xml*", "rector.php", "ecs.php", "stack.yaml", "package.yaml",
        "cabal.project", "*.cabal", "Setup.hs", "Setup.lhs", "deps.edn", "bb.edn", "build.boot", "shadow-cljs.edn",
        ".ocamlinit", "Makefile.PL", "Build.PL", "latexmkrc", ".latexmkrc", ".luacheckrc", ".busted", "*.rockspec",
        "xmake.lua", "premake5.lua", ".rubocop.yml", "Guardfile", "Capfile", "Fastfile", "Podfile", "Dangerfile",
        "Thorfile", "*.thor", "Brewfile", ".overcommit.yml", "_config.yml", "_plugins/", "*.nimble", "config.nims",
        "nim.cfg", "dub.json", "dub.sdl", "build.sc", "build.mill*", "build.xml", "mkdocs.y*ml", "gunicorn.conf.py",
        "celeryconfig.py", "locustfile.py", "alembic.ini", "**/features/environment.py", "conanfile.py",
        "book.toml", ".golangci.*", ".goreleaser.y*ml", "Tiltfile", "skaffold.yaml", "Earthfile", "BUCK",
        ".buckconfig"),
}  # fmt: skip
_ASKED_PATTERNS = tuple(pattern for patterns in ASKED.values() for pattern in patterns)
_ASKED_TAGS = tuple(tag for tag, patterns in ASKED.items() for _ in patterns)
# Deleting one of these removes a safeguard; changing one is ordinary work unless a list above matches.
GUARDS: tuple[str, ...] = (
    "CODEOWNERS", "SECURITY.md", ".github/", ".gitlab-ci.y*ml", ".circleci/", ".ci/", "tests/", "test/", "spec/",
    "__tests__/", "test_*.py", "*_test.py", "*_test.go", "*.test.*", "*.spec.*", "*_spec.rb", ".gitignore",
    ".gitattributes", ".pre-commit-config.yaml", ".husky/", "githooks/", "LICENSE*", ".editorconfig", "*.lock",
)  # fmt: skip

# Variables that make a loader, an interpreter or git run or read something else.
ENVIRONMENT = re.compile(
    r"(?:LD_.*|DYLD_.*|GIT_.*|SSH_ASKPASS|SSH_AUTH_SOCK|PYTHON(?!DONTWRITEBYTECODE$|UNBUFFERED$|HASHSEED$|UTF8$"
    r"|IOENCODING$|DEVMODE$).*|PERL5?(?:OPT|LIB|DB)|PERL5DB|RUBYOPT|RUBYLIB|NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS)"
    r"|NPM_CONFIG_(?!OFFLINE$|IGNORE_SCRIPTS$|AUDIT$|FUND$).*|BASH_ENV|BASH_FUNC_.*|ENV|PROMPT_COMMAND|PS[0-4]|IFS"
    r"|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|JAVA_TOOL_OPTIONS"
    r"|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS|RUSTC(?:_.*)?|RUSTFLAGS|CARGO_(?!NET_OFFLINE$"
    r"|TERM_COLOR$|INCREMENTAL$).*|GOFLAGS|GOPROXY|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|RES_OPTIONS|TERMINFO.*"
    r"|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|CC|CXX|RIPGREP_CONFIG_PATH|TAR_OPTIONS|GREP_OPTIONS|NEXUS_.*|MALLOC_.*"
    r"|GLIBC_TUNABLES|OPENSSL_CONF|SSL_CERT_.*|CURL_HOME|WGETRC|INPUTRC|PYTEST_ADDOPTS|PYTEST_PLUGINS)",
    re.IGNORECASE,
)
# Values by which a sandbox silences git and similar programs; other values are refused.
QUIET: dict[str, tuple[str, ...]] = {
    "PAGER": ("cat",), "GIT_PAGER": ("cat",), "MANPAGER": ("cat",), "EDITOR": ("false", "true", ":"),
    "VISUAL": ("false", "true", ":"), "GIT_EDITOR": ("false", "true", ":"), "GIT_SEQUENCE_EDITOR": ("false", "true"),
    "GIT_ASKPASS": ("", "false", "/bin/false"), "SSH_ASKPASS": ("", "false", "/bin/false"),
    "GIT_TERMINAL_PROMPT": ("0",),
    "GIT_CONFIG_NOSYSTEM": ("1",), "GIT_CONFIG_GLOBAL": ("/dev/null",), "GIT_CONFIG_SYSTEM": ("/dev/null",),
    "GIT_ATTR_NOSYSTEM": ("1",), "GIT_OPTIONAL_LOCKS": ("0",), "GIT_NO_REPLACE_OBJECTS": ("1",),
    "GIT_NO_LAZY_FETCH": ("1",), "GIT_PROTOCOL_FROM_USER": ("0",), "PYTHONNOUSERSITE": ("1",), "PYTHONSAFEPATH": ("1",),
}  # fmt: skip
_LONGEST_VALUE = 32 * 1024
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@cache
def _compile_list(name: str) -> WideMatcher:
    """Return a compiled list on demand; "any" combines all lists, because nearly every path matches none."""
    named = tuple(pattern for pattern in DENIED if not pattern.startswith("!"))
    rows = {"named": named, "processes": PROCESSES, "ours": OURS, "guards": GUARDS, "asked": _ASKED_PATTERNS}
    everything = tuple(pattern for patterns in rows.values() for pattern in patterns)
    return WideMatcher(everything if name == "any" else rows[name])


def secret_patterns() -> tuple[str, ...]:
    """Return the patterns of secret files, without the exceptions."""
    return (*(one for one in DENIED if not one.startswith("!")), *PROCESSES)


def all_patterns() -> tuple[str, ...]:
    """Return the patterns of all lists."""
    return (*secret_patterns(), *OURS, *GUARDS, *_ASKED_PATTERNS)


@lru_cache(maxsize=8192)
def _index_of_pattern(name: str, path: str) -> int | None:
    return _compile_list(name).first(path)


def is_plain(path: str) -> bool:
    """True if no list matches `path`."""
    return _index_of_pattern("any", path) is None


def secret_pattern_for(path: str) -> str | None:
    """Return the built-in pattern that makes `path` secret, or None."""
    if is_plain(path):
        return None
    at = _index_of_pattern("processes", path)
    if at is not None:
        return PROCESSES[at]
    # Includes the exceptions, such as .env.example.
    return None if _index_of_pattern("named", path) is None else denied_by(fold_path(path))


def is_ours(path: str) -> bool:
    """True for a path below .nexus/, at any depth."""
    return not is_plain(path) and _index_of_pattern("ours", path) is not None


def tag_to_ask(path: str) -> str | None:
    """Return the tag of the list that matches `path`, or None."""
    at = None if is_plain(path) else _index_of_pattern("asked", path)
    return None if at is None else _ASKED_TAGS[at]


def is_guard(path: str) -> bool:
    """True if deleting `path` removes a safeguard."""
    return not is_plain(path) and _index_of_pattern("guards", path) is not None


@lru_cache(maxsize=1024)
def _is_telling(name: str) -> bool:
    return ENVIRONMENT.fullmatch(name) is not None


def why_bad_variable(name: str, value: str) -> str | None:
    """Return why no command may get this environment variable, or None."""
    if not _ENVIRONMENT_NAME.fullmatch(name):
        return "it is not the name of a variable"
    if _is_telling(name) and value not in QUIET.get(name, ()):
        return "it makes a loader, an interpreter or git run or read something else"
    if len(value) > _LONGEST_VALUE or _CONTROL.search(value):
        return "its value is too long, or holds control characters"
    return None
