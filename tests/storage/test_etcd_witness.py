"""An independent client, etcd3 from PyPI, finds in etcd what we stored, and we find what it stored.

It runs in a process of its own because its generated code needs the pure Python implementation of protobuf.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from storage.etcd.client import EtcdStore
from storage.etcd.options import EtcdOptions
from storage.interface import Delete, Put

pytestmark = pytest.mark.etcd
WITNESS = """
import json, sys
import etcd3
host, port = sys.argv[1].removeprefix("http://").split(":")
client = etcd3.client(host=host, port=int(port))
found = [
    [meta.key.decode(), value.decode(), meta.create_revision, meta.mod_revision, meta.version]
    for value, meta in client.get_prefix(sys.argv[2])
]
client.put(sys.argv[2] + "theirs", "from etcd3")
print(json.dumps(found))
"""


async def test_the_ordinary_client_finds_what_we_stored_and_we_what_it_stored(
    etcd_newest: Any, prefix: bytes
) -> None:
    store = await EtcdStore.open(EtcdOptions(endpoints=(etcd_newest.endpoint,)))
    a, b, c = (prefix + name for name in (b"a", b"b", b"c"))
    first = (await store.txn([], [Put(a, b"1"), Put(b, b"1"), Put(c, b"1")])).revision
    second = (await store.txn([], [Put(a, b"2"), Delete(c)])).revision
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    witness = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", WITNESS, etcd_newest.endpoint, prefix.decode()],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert witness.returncode == 0, witness.stderr
    assert json.loads(witness.stdout) == [
        [a.decode(), "2", first, second, 2],
        [b.decode(), "1", first, first, 1],
    ]
    theirs = (await store.get(prefix + b"theirs")).item
    assert theirs is not None
    assert theirs.value == b"from etcd3"
    await store.close()
