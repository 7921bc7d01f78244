"""Files in a folder that a program obeys by itself: it runs them, or what they name.

Who writes such a file is asked about, whatever a wildcard allows (the lists of `builtin` hold each of them). Who runs
such a program outside of a sandbox is judged with the files that lie from its folder up to the top of the worktree.
"""

from collections.abc import Mapping
from types import MappingProxyType

_NODE = ("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml")
_PYTHON = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini")
_PYTEST = ("conftest.py", "pytest.ini", *_PYTHON)
_CARGO = ("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_RUBY = ("Gemfile", "Rakefile", ".bundle/config")
_COMPOSE = ("Dockerfile", "compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew")
_MISE = ("mise.toml", ".mise.toml", ".tool-versions")

OBEYED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"), _NODE),
        **dict.fromkeys(("node", "nodejs", "deno", "tsx"), ("package.json", ".npmrc")),
        **dict.fromkeys(("jest", "vitest", "vite", "webpack", "rollup", "babel"), (
            *_NODE, "jest.config.js", "vitest.config.ts", "vite.config.js", "vite.config.ts", "webpack.config.js",
            "rollup.config.js", "babel.config.js", ".babelrc")),
        **dict.fromkeys(("eslint", "prettier"), (*_NODE, ".eslintrc.js", ".eslintrc.cjs", "eslint.config.js",
                                                 ".prettierrc.js")),
        **dict.fromkeys(("make", "gmake"), _MAKE),
        **dict.fromkeys(("pytest", "py.test"), _PYTEST),
        **dict.fromkeys(("python", "python3"), ("sitecustomize.py", "usercustomize.py")),
        **dict.fromkeys(("pip", "pip3", "uv", "uvx", "poetry", "hatch", "build"), (*_PYTHON, "uv.toml", "hatch.toml")),
        "tox": ("tox.ini", *_PYTHON),
        "nox": ("noxfile.py",),
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
        **dict.fromkeys(("bundle", "gem", "rake", "ruby", "irb"), _RUBY),
        "composer": ("composer.json",),
        **dict.fromkeys(("docker", "podman"), _COMPOSE),
        "direnv": (".envrc",),
        **dict.fromkeys(("mise", "asdf"), _MISE),
        **dict.fromkeys(("gradle", "gradlew"), _GRADLE),
        "mvn": ("pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config"),
        "cmake": ("CMakeLists.txt", "CMakePresets.json"),
        "meson": ("meson.build",),
        "ninja": ("build.ninja",),
        "bazel": (".bazelrc", "WORKSPACE", "MODULE.bazel"),
        "just": ("justfile", ".justfile"),
        "task": ("Taskfile.yml", "Taskfile.yaml"),
        **dict.fromkeys(("pre-commit", "prek"), (".pre-commit-config.yaml",)),
        "lefthook": ("lefthook.yml", ".lefthook.yml"),
        **dict.fromkeys(("nix", "nix-shell", "nix-build"), ("flake.nix", "shell.nix", "default.nix")),
        "vagrant": ("Vagrantfile",),
        **dict.fromkeys(("vim", "vi", "nvim"), (".vimrc", ".exrc", ".nvimrc")),
        "gdb": (".gdbinit",),
        "lldb": (".lldbinit",),
    }
)  # fmt: skip
