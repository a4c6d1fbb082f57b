"""What a failed command may say."""

from __future__ import annotations

__all__ = ["assert_one_message"]


def assert_one_message(result, *parts: str, status: int = 1) -> None:
    """The command failed with a sentence or two on the standard error, and nothing else."""
    assert result.returncode == status, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip().count("\n") == 0
    for part in parts:
        assert part in result.stderr
