"""Fixtures for pytest, there as soon as the package is installed.

    def test_mine(bigtable_server):      one server for all tests, empty
        client = bigtable.Client(project="p", admin=True)
    def test_tables(quarry_store):       an empty store of this test
        quarry_store.create_table("t", ["f"])
"""

import os
from typing import Iterator

import pytest

from .bigtable import Server
from .store import Store


@pytest.fixture(scope="session")
def bigtable_server() -> Iterator[Server]:
    """A server of the Bigtable API; BIGTABLE_EMULATOR_HOST names it meanwhile.
    """
    before = os.environ.get("BIGTABLE_EMULATOR_HOST")
    with Server() as server:
        os.environ["BIGTABLE_EMULATOR_HOST"] = server.address
        try:
            yield server
        finally:
            if before is None:
                del os.environ["BIGTABLE_EMULATOR_HOST"]
            else:
                os.environ["BIGTABLE_EMULATOR_HOST"] = before


@pytest.fixture
def quarry_store(tmp_path: "os.PathLike[str]") -> Iterator[Store]:
    """A store in a directory of its own."""
    with Store("file:" + os.path.join(os.fspath(tmp_path), "quarry")) as store:
        yield store
