"""Whom kube-apiserver says to trust, followed live."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from apiserver.auth.configmap import ConfigError, LiveConfig, parse
from apiserver.auth.configmap_watch import COLLECTION, ConfigMapWatcher
from apiserver.machinery.errors import APIError, expired


def data_of(client_ca, proxy_ca, **changes):
    data = {
        "client-ca-file": client_ca.pem.decode(),
        "requestheader-client-ca-file": proxy_ca.pem.decode(),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not None}


def configmap(data, version="1"):
    return {"metadata": {"resourceVersion": version}, "data": data}


@pytest.fixture
def data(client_ca, proxy_ca):
    return data_of(client_ca, proxy_ca)


def test_everything_is_read(data, client_ca, proxy_ca):
    config = parse(data)
    assert config.client_ca == client_ca.pem.strip()
    assert config.request_header.ca == proxy_ca.pem.strip()
    assert config.request_header.allowed_names == ("front-proxy-client",)
    assert config.request_header.uid_headers == ("X-Remote-Uid",)
    assert config.request_header.extra_prefixes == ("X-Remote-Extra-",)
    assert len(config.authorities()) == 2


def test_a_cluster_without_a_front_proxy_has_none():
    assert parse({}).authorities() == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"client-ca-file": "nonsense"},
        {"requestheader-allowed-names": "not json"},
        {"requestheader-group-headers": '{"a": 1}'},
        {"requestheader-uid-headers": "[1]"},
    ],
)
def test_what_is_broken_is_told(data, changes):
    with pytest.raises(ConfigError):
        parse({**data, **changes})


def test_the_last_good_value_survives_deletion_and_damage(data):
    live = LiveConfig()
    live.observe(configmap(data))
    good = live.current
    for bad in (None, {}, configmap({"client-ca-file": "x"}), configmap({**data, "client-ca-file": ""})):
        live.observe(bad)
        assert live.current == good
    assert live.synced


def test_each_part_is_replaced_on_its_own(data, client_ca, proxy_ca, make_authority):
    live = LiveConfig()
    live.observe(configmap(data))
    successor = make_authority("kubernetes")
    live.observe(configmap({"client-ca-file": successor.pem.decode()}))
    assert live.client_ca() == successor.pem.strip()
    assert live.request_header_ca() == proxy_ca.pem.strip()
    assert live.request_header().username_headers == ("X-Remote-User",)


def test_listeners_hear_of_changes_alone(data):
    live, heard = LiveConfig(), []
    live.on_change(heard.append)
    live.observe(configmap(data))
    live.observe(configmap(data, "2"))
    live.observe(None)
    assert heard == [live.current]


def test_an_object_that_does_not_exist_is_known_not_to():
    live = LiveConfig()
    assert not live.synced
    live.observe(None)
    assert live.synced
    assert "does not exist" in live.problem


class Host:
    """A host cluster whose answers are scripted: lists, and for each watch its events or an error."""

    def __init__(self, lists, watches):
        self.lists, self.watches, self.queries = lists, watches, []

    async def get(self, path, *, query=None):
        assert path == COLLECTION
        self.queries.append(query)
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(self, path, *, query=None):
        self.queries.append(query)
        for event in self.watches.pop(0):
            if isinstance(event, Exception):
                raise event
            yield event


def listed(data, version="7"):
    return {"metadata": {"resourceVersion": version}, "items": [configmap(data)] if data else []}


async def test_a_change_seen_by_the_watch_is_taken_in(data, make_authority):
    changed = {**data, "client-ca-file": make_authority("new").pem.decode()}
    host = Host([listed(data)], [[{"type": "MODIFIED", "object": configmap(changed)}]])
    live = LiveConfig()
    await ConfigMapWatcher(host, live).round()
    assert live.current == parse(changed)
    assert host.queries[1]["resourceVersion"] == "7"
    assert host.queries[1]["fieldSelector"] == "metadata.name=extension-apiserver-authentication"


async def test_after_an_expired_watch_the_object_is_read_again(data, make_authority):
    changed = {**data, "client-ca-file": make_authority("new").pem.decode()}
    host = Host([listed(data), listed(changed)], [[expired("too old")], []])
    live = LiveConfig()
    watcher = ConfigMapWatcher(host, live)
    await watcher.round()
    assert "too old" in live.problem
    await watcher.round()
    assert live.current == parse(changed)
    assert live.problem == ""


async def test_an_unreachable_cluster_changes_nothing(data):
    host = Host([listed(data), OSError("refused")], [[]])
    live = LiveConfig()
    watcher = ConfigMapWatcher(host, live)
    await watcher.round()
    await watcher.round()
    assert live.current == parse(data)
    assert "refused" in live.problem


async def test_an_object_made_later_is_found(data):
    host = Host([listed(None)], [[{"type": "ADDED", "object": configmap(data)}]])
    live = LiveConfig()
    await ConfigMapWatcher(host, live).round()
    assert live.current == parse(data)


async def test_a_silent_watch_is_given_up(data):
    class Silent(Host):
        async def watch(self, path, *, query=None):
            await asyncio.Event().wait()
            yield {}

    await ConfigMapWatcher(Silent([listed(data)], []), LiveConfig(), relist=0.01).round()


async def test_the_loop_pauses_between_rounds(data):
    class EnoughError(Exception):
        pass

    pauses = []

    async def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            raise EnoughError

    host = Host([listed(data), APIError(403, "Forbidden", "no"), listed(data)], [[], []])
    with pytest.raises(EnoughError):
        await ConfigMapWatcher(host, LiveConfig(), retry=2, sleep=pause).run()
    assert pauses == [2, 2, 2]


def test_header_lists_may_be_null(data):
    assert (
        parse({**data, "requestheader-uid-headers": orjson.dumps(None).decode()}).request_header.uid_headers
        == ()
    )
