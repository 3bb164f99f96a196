"""What the documents say is so: commands run, code runs, every option, setting and promise is accounted for."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from bench import pages
from bench.report import COMMAND
from tests.terminal import Terminal

from askdesk.cli.main import COMMANDS
from askdesk.settings import SETTINGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)


def test_the_ten_lines_of_the_readme_ask_on_a_terminal() -> None:
    (code,) = blocks(README, "python")
    with Terminal("-c", code, command=(sys.executable,)) as person:
        person.shows("Which database?", "SQLite")
        person.settles(0.45)  # before, keys decide nothing
        person.press("2")
        assert person.leaves() == (0, "Building with SQLite.\n", "✔ Which database? → SQLite")


PYTHON_PAGE = blocks((ROOT / "docs" / "python.md").read_text("utf-8"), "python")
SAID = [
    "",
    "EXPIRED: nobody answered",
    'still open: 1\nANSWERED: the person chose among your options.\n- "Which database?" = "SQLite"\n',
    "run {'command': 'make deploy'}",
    '= "Day.js"',
    '(what README.md holds)\nDENIED: the application did not allow this call; it did not run. It said: "only files of '
    'this project"\nDENIED: the person did not allow this call; it did not run. They said: "not this one"\n',
    "chosen=('Postgres',)",
]


@pytest.mark.parametrize(("code", "said"), list(zip(PYTHON_PAGE[1:], SAID[1:], strict=True)))
def test_the_code_of_the_python_page_runs(code: str, said: str) -> None:
    run = run_python(code)
    assert (run.returncode, run.stderr) == (0, "")
    assert said in run.stdout


def test_the_script_of_the_python_page_runs_once_somebody_answers_in_a_pipe() -> None:
    code = PYTHON_PAGE[0].replace('key="setup-1",', 'key="setup-1", surface="plain",')
    run = subprocess.run(
        [sys.executable, "-c", code], input="1\n1,2\n8\nyes\n", capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, "SQLite (Recommended)\nLogging, Metrics\n8\n")


def test_the_commands_of_the_readme_are_there_to_run() -> None:
    (block,) = blocks(README, "sh")
    for line in block.splitlines():
        assert os.access(ROOT / line.split()[0], os.X_OK)


def help_of(command: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "askdesk.cli.main", command, "--help"], capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    assert f"askdesk {command}" in COMMANDS_PAGE
    options = set(re.findall(r"--[a-z][a-z-]*", help_of(command))) - {"--help"}
    assert {option for option in options if option not in COMMANDS_PAGE} == set()


def test_no_option_is_documented_that_is_not_there() -> None:
    documented = set(re.findall(r"--[a-z][a-z-]*", COMMANDS_PAGE)) - {"--help"}
    assert documented - set(re.findall(r"--[a-z][a-z-]*", "".join(help_of(command) for command in COMMANDS))) == set()


def test_every_setting_is_documented_as_it_is() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \| (.+?) \| (.+) \|$", page, re.MULTILINE)
    assert rows == [(s.name, s.variable, s.default_words, s.meaning) for s in SETTINGS]


def names_in(path: Path) -> set[str]:
    """Every test that a file defines, also one that is made by an assignment."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return functions | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def test_every_promise_names_a_test_that_exists() -> None:
    table = README.split("## Promises")[1].split("\n## ")[0]
    named = re.findall(r"^\| .+ \| `([Tt]est\w+)` \|$", table, re.MULTILINE)
    assert len(named) == table.count("\n| ") - 1  # every row but the heading
    known = set().union(*(names_in(path) for path in (ROOT / "tests").rglob("test_*.py")))
    assert set(named) - known == set()


def test_links_between_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_readme_quotes_the_figures_of_one_run_with_its_date_and_machine() -> None:
    quoted = pages.standing(README, COMMAND).splitlines()
    whole = (ROOT / "docs" / "speed.md").read_text("utf-8")
    samples = json.loads((ROOT / "docs" / "speed.json").read_text("utf-8"))
    assert quoted[0] in whole.splitlines()
    assert quoted[0].startswith(f"Measured on {samples['when'][:10]}: {samples['machine']['processor']}, ")
    ratios = {each["name"]: median(each["ours"]) / median(each["floor"]) for each in samples["ratios"]}
    told = [[cell.strip() for cell in row.split("|")[1:-1]] for row in quoted[4:]]
    assert {cells[0]: float(cells[3].removesuffix("x")) for cells in told} == pytest.approx(ratios, abs=0.01)


def test_the_pictures_show_the_screens_as_they_are() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import pictures  # type: ignore[import-not-found, unused-ignore]
    finally:
        sys.path.pop(0)
    kept = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    kept.pop("growth", "")  # a plot of what was measured, by scripts/bench
    assert kept == pictures.draw_all()
