"""One browser for all browser tests."""

from __future__ import annotations

import pytest

from tests.browser.chromium import Chromium
from tests.conftest import chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = chromium()
    if program is None:
        pytest.skip("no Chromium found")
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as opened:
        yield opened
