"""The short form of the `kill -9` run; `scripts/faults kill` is the long one."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FIGURES = (
    r"kill: 8 cycles, [1-9]\d* asks acknowledged, [1-9]\d* settled, \d+ winners told again, "
    r"\d+ answers collected again; "
    r"0 lost, 0 doubled, 0 settled twice, 0 winners untold, 0 answers uncollected, integrity ok\n"
)


def test_after_random_kills_nothing_acknowledged_is_lost_nothing_settled_twice_and_every_winner_told() -> None:
    command = [sys.executable, "-m", "tests.faults.kill", "--cycles", "8"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert re.fullmatch(FIGURES, run.stdout), run.stdout
    assert run.returncode == 0
