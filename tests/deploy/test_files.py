"""The files of deploy/ that no test can run whole: whoever reads them takes them, and they fit what they are about."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.command import ASKDESK, surroundings
from tests.deploy.debian import program

from askdesk.cli.hook_start import SECONDS as LONGEST_HOOK
from askdesk.core.limits import OPEN
from askdesk.open import sized
from askdesk.server.given import LONGEST_WAIT
from askdesk.settings import SETTINGS, load

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROGRAM = "/opt/askdesk/bin/askdesk"
UNITS = ("askdesk.service", "askdesk@.service")


def lines(name: str) -> list[str]:
    """Without comments."""
    return [line for line in (DEPLOY / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]


def values(unit: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in lines(unit) if line.startswith(f"{name}=")]


def example() -> dict[str, str]:
    """The variables of the example, those in comments too."""
    text = (DEPLOY / "askdesk.env.example").read_text("utf-8")
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_systemd_takes_the_units_and_finds_little_that_they_could_harm(tmp_path: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    copies = [tmp_path / unit for unit in UNITS]
    for copy in copies:
        copy.write_text((DEPLOY / copy.name).read_text("utf-8").replace(PROGRAM, sys.executable))
    verified = subprocess.run((analyze, "verify", *copies), capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    for copy in copies:
        judged = (analyze, "security", "--offline=yes", "--threshold=15", copy)
        assert subprocess.run(judged, stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_the_command_of_the_units_runs() -> None:
    (command,), (environment,) = values("askdesk.service", "ExecStart"), values("askdesk.service", "Environment")
    given = dict(pair.split("=") for pair in environment.split()) | {"PUBLIC_URL": "https://desk.example", "PORT": "0"}
    for name, value in given.items():
        command = command.replace(f"${{{name}}}", value)
    started, *options = command.split()
    assert started == PROGRAM
    with subprocess.Popen((*ASKDESK, *options), stdout=subprocess.PIPE, text=True, env=surroundings()) as server:
        assert server.stdout
        assert server.stdout.readline() == "https://desk.example\n"
        server.kill()


def test_the_units_differ_in_the_port_alone() -> None:
    one, many = map(lines, UNITS)
    differences = [pair for pair in zip(one, many, strict=True) if pair[0] != pair[1]]
    assert differences == [
        (
            "Description=askdesk, where agents ask and people answer",
            "Description=askdesk, where agents ask and people answer, at port %i",
        ),
        ("Environment=HOST=127.0.0.1 PORT=8700", "Environment=HOST=127.0.0.1 PORT=%i"),
    ]


def test_the_example_has_settings_and_what_the_units_want() -> None:
    settings = {setting.variable for setting in SETTINGS}
    assert set(example()) - settings == {"PUBLIC_URL", "HOST"}


def test_the_compose_file_is_one() -> None:
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    done = subprocess.run(command, cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n")


def test_nginx_has_the_addresses_of_the_servers_in_the_compose_file() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    servers = re.findall(r"^  (desk-\d): .*ipv4_address: ([\d.]+)\}", text, re.MULTILINE)
    listed = re.findall(r"^ +server ([\d.]+):8700 ", text, re.MULTILINE)
    waited_for = re.findall(r"^ +(desk-\d): \{condition: service_healthy\}", text, re.MULTILINE)
    assert len(servers) == 3
    assert servers == list(zip(waited_for, listed, strict=True))


@pytest.mark.parametrize("name", ["compose.yaml", "askdesk.service", "askdesk@.service"])
def test_every_option_of_serve_is_one(name: str) -> None:
    told = subprocess.run((*ASKDESK, "serve", "--help"), capture_output=True, text=True, check=True).stdout
    (command,) = [line for line in lines(name) if re.search(r"\bserve\b.*--", line)]
    options = re.findall(r"--[a-z-]+", command)
    assert options
    assert set(options) - set(re.findall(r"--[a-z-]+", told)) == set()


def test_the_image_is_built_of_files_and_extras_that_there_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extras,) = re.findall(r"/source\[(.+)\]", (DEPLOY / "Dockerfile").read_text("utf-8"))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    copied = {line[1:] for line in lines("Dockerfile.dockerignore") if line.startswith("!")}
    assert copied == {"src", "pyproject.toml", project["readme"], *project["license-files"]}


SPANS = {"s": 1, "d": 86_400}


def seconds(text: str) -> int:
    return int(text[:-1]) * SPANS[text[-1]]


def test_nginx_waits_for_longer_than_the_desk_and_takes_more() -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    of_all, *of_some = map(seconds, re.findall(r"proxy_read_timeout (\w+);", text))
    (most,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert of_all > LONGEST_WAIT
    assert [each >= LONGEST_HOOK for each in of_some] == [True, True]
    assert int(most) * 1_000_000 > 2 * sized(OPEN, load()).size + 10_000
