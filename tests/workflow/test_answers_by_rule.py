"""A question about a name is answered with its definition first, without a model."""

from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git

SIGNER = '''"""Signs."""
import signing


class SigningAlgorithm:
    """How to sign."""

    def sign(self, key, value):
        """Return a signature by an algorithm."""


class Signer:
    """Signs values with a key, and
    takes the signature off again."""

    def sign(
        self,
        value: str,
    ) -> str:
        """Return the value with its signature."""

    def derive(self):
        return signing.sign(self)
'''
OTHER = """from signer import Signer

# A Signer signs; Signer.sign is called here, by the Signer.
signer = Signer()
signer.sign(1)
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is a Signer?", "class Signer: — Signs values with a key, and takes the signature off again."),
        ("Where is the signer class defined?", "class Signer: — Signs values"),
        ("What does Signer.sign do?", "def sign(self, value: str) -> str: — Return the value with its signature."),
        ("what does `derive()` do", "def derive(self):"),
        ("What does SigningAlgorithm do?", "class SigningAlgorithm: — How to sign."),
        ("Summarise the README", "The signer — It signs."),
        ("what is in signer.py?", "Signs."),
    ],
)
def test_what_defines_the_name_comes_first_with_its_description(
    project: Path, nexus: Nexus, question: str, answer: str
) -> None:
    (project / "src").mkdir()
    (project / "src" / "signer.py").write_text(SIGNER)
    (project / "src" / "main.py").write_text(OTHER)
    (project / "README.md").write_text("# The signer\n\nIt signs.\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-qm", "sources")

    first = nexus.ok("run", question).split("\n")[0]

    assert answer in first.split(" Also ")[0], first
