"""Table of files that programs read and execute by themselves when they lie in a folder.

Writing such a file always asks, whatever a wildcard allows (the lists of `builtin` contain each of them). A program
that runs outside a sandbox is judged with the files from its folder up to the top of the worktree. Files that are
installed and never committed (`node_modules/.bin`), or count only in a home (`.bashrc`), ask when they are written and
are not listed here. A name may contain `*`.
"""

from collections.abc import Mapping
from types import MappingProxyType


def _config_names(*stems: str) -> tuple[str, ...]:
    """Return the names of executable configuration files of JavaScript programs."""
    return tuple(f"{stem}.{ending}" for stem in stems for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))


_NODE = ("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", ".pnp.cjs",
         ".pnp.loader.mjs", ".yarn/plugins/*.cjs", ".yarn/plugins/*/*.cjs", ".yarn/releases/*.cjs",
         "pnpm-workspace.yaml")  # fmt: skip
_DENO = ("deno.json", "deno.jsonc")
_TESTS = (*_config_names("jest.config", "vitest.config", "vitest.workspace", "vite.config", "webpack.config",
                    "rollup.config", "babel.config"), "jest.config.json", "vitest.workspace.json", "babel.config.json",
          ".babelrc", ".babelrc.js", ".babelrc.cjs", ".babelrc.mjs", ".babelrc.json")  # fmt: skip
_ESLINT = (
    *_config_names("eslint.config"),
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
)
_PRETTIER = (*_config_names("prettier.config", ".prettierrc"), ".prettierrc", ".prettierrc.json", ".prettierrc.json5",
             ".prettierrc.toml", ".prettierrc.yml", ".prettierrc.yaml")  # fmt: skip
_STAGED = (*_config_names("lint-staged.config", ".lintstagedrc"), ".lintstagedrc", ".lintstagedrc.json",
           ".lintstagedrc.yml", ".lintstagedrc.yaml", "package.json")  # fmt: skip
_PYTHON = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini")
_PYTEST = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", *_PYTHON)
_CARGO = ("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_RUBY = ("Gemfile", "gems.rb", "Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb", "rakelib/*.rake", ".bundle/config")
_COMPOSE = ("Dockerfile", "compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew", "gradle.properties",
           "init.gradle", "init.gradle.kts", "gradle/wrapper/gradle-wrapper.properties", "buildSrc/build.gradle",
           "buildSrc/build.gradle.kts")  # fmt: skip
_BAZEL = (".bazelrc", ".bazelversion", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "BUILD", "BUILD.bazel",
          "tools/bazel")  # fmt: skip
_TASK = tuple(f"{name}{dist}.{ending}" for name in ("Taskfile", "taskfile") for dist in ("", ".dist")
              for ending in ("yml", "yaml"))  # fmt: skip
_DOTNET = ("*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "Directory.Build.props", "Directory.Build.targets",
           "Directory.Packages.props", "Directory.Build.rsp", "nuget.config", "NuGet.config",
           "global.json")  # fmt: skip
_MISE = ("mise.toml", ".mise.toml", ".tool-versions")

OBEYED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"), _NODE),
        **dict.fromkeys(("node", "nodejs", "tsx"), ("package.json", ".npmrc")),
        "deno": ("package.json", ".npmrc", *_DENO),
        **dict.fromkeys(("jest", "vitest", "vite", "webpack", "rollup", "babel"), (*_NODE, *_TESTS)),
        "eslint": (*_NODE, *_ESLINT),
        "prettier": (*_NODE, *_PRETTIER),
        "playwright": (*_NODE, *_config_names("playwright.config")),
        "next": (*_NODE, *_config_names("next.config")),
        "cypress": (*_NODE, *_config_names("cypress.config")),
        "wdio": (*_NODE, *_config_names("wdio.conf")),
        **dict.fromkeys(("postcss", "tailwindcss"), (*_NODE, *_config_names("postcss.config", "tailwind.config"))),
        "turbo": (*_NODE, "turbo.json"),
        "nx": (*_NODE, "nx.json"),
        "lint-staged": _STAGED,
        **dict.fromkeys(("make", "gmake"), _MAKE),
        **dict.fromkeys(("pytest", "py.test"), _PYTEST),
        **dict.fromkeys(("python", "python3"), ("sitecustomize.py", "usercustomize.py", ".pdbrc")),
        **dict.fromkeys(("pip", "pip3", "uv", "uvx", "poetry", "hatch", "build"),
                        (*_PYTHON, "uv.toml", "hatch.toml", "hatch_build.py", "pip.conf")),
        "pdm": (*_PYTHON, "pdm.toml"),
        "pants": ("pants.toml",),
        "waf": ("wscript",),
        "prove": (".proverc",),
        "ack": (".ackrc",),
        "rspec": (".rspec", *_RUBY),
        "pry": (".pryrc",),
        "iex": (".iex.exs",),
        **dict.fromkeys(("ghc", "ghci"), (".ghci",)),
        "lein": ("project.clj",),
        "dune": ("dune", "dune-project"),
        **dict.fromkeys(("terraform", "tofu"), ("*.tf", ".terraformrc")),
        "tox": ("tox.ini", "tox.toml", "toxfile.py", *_PYTHON),
        "nox": ("noxfile.py",),
        "doit": ("dodo.py", "pyproject.toml", "doit.cfg"),
        **dict.fromkeys(
            ("invoke", "inv"), ("tasks.py", "tasks/__init__.py", "invoke.yaml", "invoke.json", "invoke.py")
        ),
        **dict.fromkeys(("fab", "fabric"), ("fabfile.py", "fabfile/__init__.py", "fabric.yaml")),
        "scons": ("SConstruct", "Sconstruct", "sconstruct", "SConstruct.py", "SConscript"),
        "snakemake": ("Snakefile", "snakefile", "workflow/Snakefile"),
        "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
        "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
        "flake8": (".flake8", "setup.cfg", "tox.ini"),
        "pylint": (".pylintrc", "pylintrc", "pyproject.toml", "setup.cfg"),
        "coverage": (".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini"),
        "sphinx-build": ("conf.py",),
        "ansible-playbook": ("ansible.cfg",),
        "ansible": ("ansible.cfg",),
        "cargo": _CARGO,
        "rustc": ("rust-toolchain.toml", "rust-toolchain"),
        "go": ("go.mod", "go.work"),
        "zig": ("build.zig", "build.zig.zon"),
        "sbt": ("build.sbt", "project/build.properties", "project/plugins.sbt", ".sbtopts", ".jvmopts"),
        "swift": ("Package.swift",),
        **dict.fromkeys(("dotnet", "msbuild"), _DOTNET),
        **dict.fromkeys(("bundle", "gem", "rake", "ruby"), _RUBY),
        "irb": (".irbrc", *_RUBY),
        "composer": ("composer.json",),
        **dict.fromkeys(("docker", "podman"), _COMPOSE),
        "direnv": (".envrc",),
        **dict.fromkeys(("mise", "asdf"), _MISE),
        **dict.fromkeys(("gradle", "gradlew"), _GRADLE),
        "mvn": ("pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config"),
        "cmake": ("CMakeLists.txt", "CMakePresets.json"),
        "meson": ("meson.build",),
        "ninja": ("build.ninja",),
        **dict.fromkeys(("bazel", "bazelisk"), _BAZEL),
        "just": ("justfile", "Justfile", "JUSTFILE", ".justfile"),
        "task": _TASK,
        **dict.fromkeys(("pre-commit", "prek"), (".pre-commit-config.yaml",)),
        "lefthook": ("lefthook.yml", ".lefthook.yml", "lefthook-local.yml", ".lefthook-local.yml"),
        **dict.fromkeys(("nix", "nix-shell", "nix-build"), ("flake.nix", "shell.nix", "default.nix")),
        "vagrant": ("Vagrantfile",),
        "devcontainer": (".devcontainer.json", ".devcontainer/devcontainer.json"),
        "hg": (".hg/hgrc",),
        **dict.fromkeys(("R", "Rscript"), (".Rprofile", ".Renviron")),
        **dict.fromkeys(("vim", "vi", "nvim"), (".vimrc", ".exrc", ".nvimrc", ".nvim.lua")),
        **dict.fromkeys(("emacs", "emacsclient"), (".dir-locals.el", ".dir-locals-2.el")),
        # Programs of JavaScript whose file is code, or names code.
        "karma": (*_NODE, *_config_names("karma.conf")),
        "gulp": (*_NODE, *_config_names("gulpfile")),
        "grunt": (*_NODE, "Gruntfile.js", "Gruntfile.coffee"),
        "mocha": (*_NODE, ".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.yml", ".mocharc.yaml"),
        "nyc": (*_NODE, ".nycrc", ".nycrc.json", "nyc.config.js"),
        "ava": (*_NODE, *_config_names("ava.config")),
        "stylelint": (*_NODE, *_config_names("stylelint.config", ".stylelintrc"), ".stylelintrc", ".stylelintrc.json",
                      ".stylelintrc.yml", ".stylelintrc.yaml"),
        "commitlint": (*_NODE, *_config_names("commitlint.config", ".commitlintrc"), ".commitlintrc",
                       ".commitlintrc.json", ".commitlintrc.yml", ".commitlintrc.yaml"),
        "semantic-release": (*_NODE, *_config_names("release.config"), ".releaserc", ".releaserc.json",
                             ".releaserc.yml", ".releaserc.yaml"),
        "astro": (*_NODE, *_config_names("astro.config")),
        **dict.fromkeys(("nuxt", "nuxi"), (*_NODE, *_config_names("nuxt.config"))),
        **dict.fromkeys(("svelte-kit", "svelte-check"), (*_NODE, *_config_names("svelte.config"))),
        "vue-cli-service": (*_NODE, *_config_names("vue.config")),
        "ng": (*_NODE, "angular.json"),
        "gatsby": (*_NODE, *_config_names("gatsby-config", "gatsby-node")),
        "docusaurus": (*_NODE, *_config_names("docusaurus.config")),
        "eleventy": (*_NODE, ".eleventy.js", *_config_names("eleventy.config")),
        "storybook": (*_NODE, *_config_names(".storybook/main")),
        "parcel": (*_NODE, ".parcelrc"),
        "nodemon": (*_NODE, "nodemon.json"),
        "pm2": _config_names("ecosystem.config"),
        "knex": (*_NODE, *_config_names("knexfile")),
        "hardhat": (*_NODE, *_config_names("hardhat.config")),
        "truffle": (*_NODE, "truffle-config.js"),
        **dict.fromkeys(("react-native", "expo", "metro"), (*_NODE, *_config_names("metro.config"))),
        **dict.fromkeys(("serverless", "sls"), ("serverless.yml", "serverless.yaml", "serverless.js", "serverless.ts")),
        "cdk": ("cdk.json",),
        "pulumi": ("Pulumi.yaml", "Pulumi.yml"),
        "wrangler": ("wrangler.toml", "wrangler.json", "wrangler.jsonc"),
        # Of PHP, Haskell, Clojure, Perl, Lua, Ruby, Nim and others.
        **dict.fromkeys(("phpunit", "pest"), ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")),
        "php-cs-fixer": (".php-cs-fixer.php", ".php-cs-fixer.dist.php"),
        "phpstan": ("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"),
        "psalm": ("psalm.xml", "psalm.xml.dist"),
        "rector": ("rector.php",),
        "ecs": ("ecs.php",),
        **dict.fromkeys(("stack", "cabal"), ("stack.yaml", "package.yaml", "cabal.project", "*.cabal", "Setup.hs",
                                             "Setup.lhs")),
        **dict.fromkeys(("clojure", "clj"), ("deps.edn",)),
        "bb": ("bb.edn",),
        "boot": ("build.boot",),
        "shadow-cljs": ("shadow-cljs.edn",),
        **dict.fromkeys(("ocaml", "utop"), (".ocamlinit",)),
        **dict.fromkeys(("cpan", "cpanm"), ("Makefile.PL", "Build.PL")),
        "latexmk": ("latexmkrc", ".latexmkrc"),
        "luacheck": (".luacheckrc",),
        "busted": (".busted",),
        "luarocks": ("*.rockspec",),
        "xmake": ("xmake.lua",),
        "premake5": ("premake5.lua",),
        "rubocop": (".rubocop.yml", *_RUBY),
        "guard": ("Guardfile", *_RUBY),
        "cap": ("Capfile", *_RUBY),
        "fastlane": ("Fastfile", *_RUBY),
        "pod": ("Podfile", *_RUBY),
        "danger": ("Dangerfile", *_RUBY),
        "thor": ("Thorfile", "*.thor", *_RUBY),
        "brew": ("Brewfile",),
        "overcommit": (".overcommit.yml",),
        "jekyll": ("_config.yml", "_plugins/*.rb", *_RUBY),
        **dict.fromkeys(("nim", "nimble"), ("*.nimble", "config.nims", "nim.cfg")),
        "dub": ("dub.json", "dub.sdl"),
        "mill": ("build.sc", "build.mill", "build.mill.yaml"),
        **dict.fromkeys(("ant", "phing"), ("build.xml",)),
        # Of Python, and those that build or deploy.
        "mkdocs": ("mkdocs.yml", "mkdocs.yaml"),
        "gunicorn": ("gunicorn.conf.py",),
        "celery": ("celeryconfig.py",),
        "locust": ("locustfile.py",),
        "alembic": ("alembic.ini",),
        "behave": ("features/environment.py",),
        "conan": ("conanfile.py",),
        "mdbook": ("book.toml",),
        "golangci-lint": (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
        "goreleaser": (".goreleaser.yml", ".goreleaser.yaml"),
        "tilt": ("Tiltfile",),
        "skaffold": ("skaffold.yaml",),
        "earthly": ("Earthfile",),
        **dict.fromkeys(("buck", "buck2"), ("BUCK", ".buckconfig")),
        "gdb": (".gdbinit",),
        "lldb": (".lldbinit",),
    }
)  # fmt: skip
