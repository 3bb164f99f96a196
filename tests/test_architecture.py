"""Who may import whom, what loads when: what keeps the house in order and the commands quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "askdesk"
GUESTS = {
    *("apsw", "msgspec", "textual", "pygments", "markdown_it"),
    *("starlette", "uvicorn", "httptools", "jinja2", "nh3", "segno", "uvloop", "apprise"),
    *("asyncpg", "claude_agent_sdk", "mcp", "acp"),
}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after running the code."""
    code = f"{code}\nimport sys; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.splitlines()[-1].split()}


def test_importing_the_package_loads_no_guest_library() -> None:
    assert loaded_by("import askdesk") & (GUESTS | {"asyncio", "typing", "json"}) == set()


def test_help_loads_no_guest_library_and_no_event_loop() -> None:
    code = "from askdesk.cli.main import main; main(['--help'])"
    assert loaded_by(code) & (GUESTS | {"asyncio", "argparse", "json"}) == set()


def test_a_desk_in_memory_does_not_load_sqlite() -> None:
    code = "import asyncio, askdesk; asyncio.run(askdesk.open_desk('memory:').__aenter__())"
    assert loaded_by(code) & GUESTS == {"msgspec"}


@pytest.mark.parametrize("command", ["acp", "mcp", "doctor"])
def test_the_help_of_a_command_does_not_wait_for_a_guest_that_takes_long_to_load(command: str) -> None:
    code = f"from askdesk.cli.main import main; main([{command!r}, '--help'])"
    assert loaded_by(code) & {"acp", "mcp", "anyio", "claude_agent_sdk", "pydantic"} == set()


MCP = {"adapters/mcp.py", "adapters/mcp_client.py", "adapters/mcp_http.py"}
ACP = {"adapters/acp_connection.py"}


@pytest.mark.parametrize(("guest", "homes"), [("mcp", MCP), ("mcp_types", {"adapters/mcp.py"}), ("acp", ACP)])
def test_a_guest_that_takes_long_to_load_is_known_to_few_files(guest: str, homes: set[str]) -> None:
    knowing = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Import) and any(name.name.split(".")[0] == guest for name in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == guest)
    ]
    assert set(knowing) == homes


def test_imports_go_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([linter, "--no-logo"], cwd=SOURCE.parent.parent, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_opens_with_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not tree.body or ast.get_docstring(tree)


def test_every_public_name_can_be_had() -> None:
    import askdesk

    assert [name for name in askdesk.__all__ if getattr(askdesk, name, None) is None] == []


def test_every_public_name_is_known_to_type_checkers() -> None:
    text = (SOURCE / "__init__.py").read_text("utf-8")
    import askdesk

    assert [name for name in askdesk.__all__ if f" import {name} as {name}" not in text] == ["__version__"]
