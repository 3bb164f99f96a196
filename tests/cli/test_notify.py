"""askdesk notify: a test message to each URL, and nothing told of a URL but its scheme."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Ran, askdesk, assert_no_traceback, surroundings

BODIES: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    """Takes what is sent to /good."""

    def do_POST(self) -> None:
        BODIES.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200 if self.path == "/good" else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *values: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[str]:
    """Where a service listens."""
    BODIES.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"json://ana:SECRET@127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_test_message_goes_to_every_url_of_the_settings(service: str, tmp_path: Path) -> None:
    (tmp_path / "askdesk.toml").write_text(f'[notify]\nurls = ["{service}/good"]\n')
    ran = askdesk("notify", "test", env={"ASKDESK_CONFIG": str(tmp_path / "askdesk.toml")})

    assert ran == Ran(0, "sent    json://…\n", "")
    assert [(body["title"], body["message"]) for body in BODIES] == [
        ("askdesk: a test", "This is where askdesk tells you that an agent waits.")
    ]


def test_those_that_fail_are_told_and_the_others_go_all_the_same(service: str) -> None:
    urls = (f"{service}/bad", f"{service}/good", "slack://SECRET", "nosuch://SECRET", "SECRET")
    ran = askdesk("notify", "test", "--notify", *urls)

    assert ran == Ran(
        1,
        "FAILED  json://…\nsent    json://…\nFAILED  slack://…\nFAILED  nosuch://…\nFAILED  a URL without a scheme\n",
        "",
    )


def test_urls_that_are_given_go_before_those_of_the_settings(service: str) -> None:
    ran = askdesk("notify", "test", "--notify", f"{service}/good", env={"ASKDESK_NOTIFY_URLS": "slack://SECRET"})

    assert (ran.code, len(BODIES)) == (0, 1)


def test_the_message_speaks_the_language_of_the_settings(service: str) -> None:
    askdesk("notify", "test", "--notify", f"{service}/good", env={"ASKDESK_LANGUAGE": "es"})

    assert [body["title"] for body in BODIES] == ["askdesk: una prueba"]


def test_without_a_url_there_is_nothing_to_test() -> None:
    message = "askdesk: there is no URL: set notify.urls, or give one with --notify\n"

    assert askdesk("notify", "test") == Ran(2, "", message)
    assert askdesk("notify").code == 2


def without_apprise(*arguments: str) -> Ran:
    """Run a command where Apprise is not installed."""
    code = (
        "import sys, importlib.metadata as metadata; sys.modules['apprise'] = None; real = metadata.version\n"
        "def version(name):\n"
        "    if name == 'apprise': raise metadata.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "metadata.version = version\n"
        "from askdesk.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=surroundings(), check=False
    )
    assert_no_traceback(done.stderr)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_without_apprise_it_tells_what_to_install() -> None:
    message = "askdesk: apprise is not installed: pip install 'askdesk[notify]'\n"

    assert without_apprise("notify", "test", "--notify", "ntfy://x") == Ran(1, "", message)
    served = without_apprise("serve", "--port", "0", "--no-link", "--notify", "ntfy://x")
    assert (served.code, served.err) == (1, message)


def test_help_teaches_urls() -> None:
    out = askdesk("notify", "--help").out

    assert all(f"{scheme}://" in out for scheme in ("slack", "mailto", "tgram", "ntfy", "dbus", "macosx", "windows"))


def test_the_doctor_counts_urls_and_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import apprise

    assert f"ok     notifications          URLs: 0; apprise {apprise.__version__}" in askdesk("doctor").out.splitlines()
    monkeypatch.setenv("ASKDESK_NOTIFY_URLS", "slack://SECRET mailto://ana:SECRET@x")
    ran = askdesk("doctor")
    assert f"ok     notifications          URLs: 2; apprise {apprise.__version__}" in ran.out.splitlines()
    assert "SECRET" not in ran.out


def test_to_the_doctor_urls_without_apprise_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = "apprise is not installed: pip install 'askdesk[notify]'"
    ran = without_apprise("doctor")
    assert (ran.code, f"ok     notifications          URLs: 0; {missing}" in ran.out.splitlines()) == (0, True)

    monkeypatch.setenv("ASKDESK_NOTIFY_URLS", "ntfy://x")
    ran = without_apprise("doctor")
    assert (ran.code, f"WRONG  notifications          URLs: 1; {missing}" in ran.out.splitlines()) == (1, True)
