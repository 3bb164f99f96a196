"""Whether another process still runs."""

import os
import subprocess
import sys

import pytest

from askdesk.core.process import here, is_gone


def test_a_process_that_runs_is_not_gone() -> None:
    assert not is_gone(*here())


def test_of_another_machine_nobody_can_tell() -> None:
    assert not is_gone("elsewhere", 2**22 + 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that nobody has looked after")
def test_a_process_that_has_ended_is_gone_even_where_its_parent_never_looks() -> None:
    host, _ = here()
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its number is still there
    assert is_gone(host, process.pid)
    process.wait()
    assert is_gone(host, process.pid)
