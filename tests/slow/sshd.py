"""A server of OpenSSH for one test: on loopback, with keys of its own, and a login that is one command."""

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.slow.peers import CannotBeHad

_KEPT = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_NOSYSTEM", "NEXUS_HOME", "LC_ALL", "TZ", "PATH", "TMPDIR")


class Sshd:
    """The server. Root needs a user and a folder that only an installed package makes: it sees them, alone."""

    def __init__(self, program: Path, folder: Path) -> None:
        for name in ("ssh", "ssh-keygen", "tmux"):
            if shutil.which(name) is None:
                raise CannotBeHad(f"there is no {name} on PATH")
        folder.mkdir()
        self._folder = folder
        self._port = _free_port()
        for name in ("host", "mine"):
            _must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        (folder / "config").write_text(
            f"Port {self._port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/mine.pub\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\n"
            f"PermitRootLogin yes\nPrintMotd no\nPrintLastLog no\nForceCommand exec {folder}/enter\n"
        )
        self._log = (folder / "log").open("wb")
        self._server = subprocess.Popen(
            self._argv(program), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True
        )
        self._wait()

    def command(self, place: Path, term: str) -> str:
        """Return what opens the chat of a project over this server, on a terminal of a kind."""
        given = "".join(f"export {name}={shlex.quote(os.environ[name])}\n" for name in _KEPT if name in os.environ)
        enter = self._folder / "enter"
        enter.write_text(
            f"#!/bin/sh\n{given}cd {shlex.quote(str(place))}\necho $$ > {self._folder}/pid\nexec git nexus chat\n"
        )
        enter.chmod(0o755)
        options = ["-F", "none", "-i", self._folder / "mine", "-p", self._port, "-o", "StrictHostKeyChecking=no",
                   "-o", f"UserKnownHostsFile={self._folder}/known"]  # fmt: skip
        return f"env TERM={term} {shlex.join(map(str, ['ssh', '-tt', *options, '127.0.0.1']))}"

    def is_inside(self) -> bool:
        """True while the chat that was opened last lives."""
        return Path("/proc", (self._folder / "pid").read_text().strip()).exists()

    def close(self) -> None:
        """End the server."""
        self._server.kill()
        self._server.wait()
        self._log.close()

    def _argv(self, program: Path) -> list[str]:
        served = [str(program), "-D", "-e", "-f", str(self._folder / "config")]
        if os.geteuid() != 0:
            return served
        users = Path("/etc/passwd").read_text().split("\n")
        home = os.environ["HOME"]
        mine = [f"root:x:0:0:root:{home}:/bin/sh", "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"]
        (self._folder / "passwd").write_text(
            "\n".join([*mine, *(row for row in users if not row.startswith(("root:", "sshd:")))])
        )
        script = (
            f"mount --bind {shlex.quote(str(self._folder / 'passwd'))} /etc/passwd && mount -t tmpfs none /run && "
            f"mkdir -m 755 /run/sshd && exec {shlex.join(served)}"
        )
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]

    def _wait(self) -> None:
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self._server.poll() is None:
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        self.close()
        said = (self._folder / "log").read_text(errors="replace").strip().split("\n")[-1]
        raise CannotBeHad(f"sshd does not start for {getpass.getuser()}: {said}")


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def _must(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)
