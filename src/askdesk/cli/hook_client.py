"""The quick way of `askdesk hook`: hands an event to a running server's socket and prints what comes back.

Run by its path, with `python -I -S`. It imports nothing that the interpreter has not got already, and knows no JSON:
    hook_client.py SOCKET MODE SECONDS [STORE]
Where no server answers it becomes `askdesk hook`, with the same event, and waits at the store itself. A reply counts
only when it is complete. It never ends with 2, which Claude Code takes for a no.
"""

import posix
import sys

TYPE_CHECKING = False  # without the module that has it
if TYPE_CHECKING:
    import _socket

_STEP = 2.0  # seconds between looks whether Claude Code is still there
_MOST = 65_536
_ASKDESK = "import os; from askdesk.cli.main import main; os._exit(main())"  # a tidy end takes a fifth of the time
_FIND = "import sys, site; sys.path[len(sys.path):] = {found!r}; site.main(); "
LEFT = 5  # seconds that Claude Code must have left when this ends


def main(given: list[str]) -> None:
    path, mode, seconds, *store = given
    event = read()
    nonce = posix.urandom(16).hex()
    reply = exchanged(path, header(mode, seconds, nonce, len(event)) + event, float(seconds) - LEFT)
    if reply is None:
        _become_slow(mode, seconds, nonce, store, event)
    else:
        write(reply.rstrip(b"\n"))


def header(mode: str, seconds: str, nonce: str, length: int) -> bytes:
    """What a server must know besides the event, in a line."""
    previews = posix.environ.get(b"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", b"").decode("ascii", "ignore")
    fields = {"length": length, "mode": mode, "seconds": seconds, "nonce": nonce, "parent": posix.getppid()}
    words = [f"{name}={value}" for name, value in fields.items()] + [f"previews={''.join(previews.split())}"]
    return f"askdesk-hook/1 {' '.join(words)}\n".encode()


def exchanged(path: str, sent: bytes, seconds: float) -> bytes | None:
    """The reply of the server at a socket; None where none is there, or it dies before the reply is complete."""
    import _socket

    parent, reply = posix.getppid(), b""
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.settimeout(_STEP)
        server.connect(path)
        if not _is_own_user(path, server):
            return None
        server.sendall(sent)
        while not reply.endswith(b"\n"):
            try:
                got = server.recv(_MOST)
            except TimeoutError:
                seconds -= _STEP
                if posix.getppid() != parent:  # nobody reads a reply any more
                    return b"\n"
                if seconds < 0:
                    return b'{"systemMessage":"askdesk: the desk did not answer in time: decide here"}\n'
            else:
                if not got:
                    return None
                reply += got
    except OSError:
        return None
    finally:
        server.close()
    return reply


def _is_own_user(path: str, server: "_socket.socket") -> bool:
    """Whose the socket is; and, where the system tells, who listens there: another's yes would be no yes."""
    import _socket

    if posix.stat(path).st_uid != posix.getuid():
        return False
    if not hasattr(_socket, "SO_PEERCRED"):
        return True
    peer = server.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # three numbers: process, user, group
    return int.from_bytes(peer[4:8], sys.byteorder) == posix.getuid()


def _become_slow(mode: str, seconds: str, nonce: str, store: list[str], event: bytes) -> None:
    """Go on as `askdesk hook` in this very process. Isolated: the folder that it runs in is an agent's."""
    hand_on(event)
    options = ["--mode", mode, "--timeout", seconds, "--nonce", nonce, *(("--store", store[0]) if store else ())]
    code = _FIND.format(found=_package(__file__)) + _ASKDESK
    posix.execv(sys.executable, [sys.executable, "-I", "-S", "-c", code, "hook", "--no-server", *options])


def _package(file: str) -> list[str]:
    """The folder that holds this very package, which may be where isolated programs do not look for any.

    It comes behind Python's own modules and before those of the site; never, where it is the agent's folder.
    """
    folder = file.rsplit("/", 3)[0] or "/"
    here, there = posix.stat("."), posix.stat(folder)
    return [] if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) else [folder]


def hand_on(event: bytes) -> None:
    """Put the event on standard input again, in a file that nobody else can open."""
    try:
        file = _unnamed(posix.environ.get(b"TMPDIR") or b"/tmp")
    except OSError:  # a folder that is gone, or that is not for writing
        file = _unnamed(b"/tmp")
    write(event, file)
    posix.lseek(file, 0, 0)
    posix.dup2(file, 0)


def _unnamed(folder: bytes) -> int:
    name = folder + b"/askdesk-" + posix.urandom(16).hex().encode()
    file = posix.open(name, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL, 0o600)
    posix.unlink(name)
    return file


def read() -> bytes:
    parts = []
    while part := posix.read(0, _MOST):
        parts.append(part)
    return b"".join(parts)


def write(data: bytes, file: int = 1) -> None:
    while data:
        data = data[posix.write(file, data) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - Claude Code shows what is wrong, and goes on without a hook
        sys.stderr.write(f"askdesk: the hook failed: {error!r}\n")
        sys.exit(1)
