"""What the tests with the real Claude Code share."""

from tests.claude.prompted import prompted  # noqa: F401 - a fixture
