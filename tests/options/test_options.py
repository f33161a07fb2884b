"""Flags become a configuration that is consistent, or a list of everything that is wrong."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.config import ControllersConfig, EtcdConfig, SQLiteConfig
from apiserver.deploy_options import install_options, manifest_options, uninstall_options
from apiserver.flags import OptionsError
from apiserver.machinery.duration import parse_duration
from apiserver.options import dev_config, serve_config

ETCD = "--etcd-servers=http://127.0.0.1:2379"


def serve(*arguments):
    return serve_config("serve", arguments)


def refused(*arguments):
    with pytest.raises(OptionsError) as caught:
        serve(*arguments)
    return caught.value.errors


def test_the_defaults_are_those_of_kubernetes():
    config = serve(ETCD)
    assert config.storage == EtcdConfig(servers=("http://127.0.0.1:2379",))
    assert config.serving.request_timeout == 60
    assert config.serving.max_requests_inflight == 400
    assert config.serving.max_mutating_requests_inflight == 200
    assert config.controllers == ControllersConfig()
    assert config.auth.anonymous
    assert config.auth.always_allow_paths == ("/healthz", "/readyz", "/livez")
    assert config.auth.request_header.username_headers == ("x-remote-user",)
    assert config.verbosity == 0


def test_lists_come_by_commas_and_by_repeating_the_flag():
    config = serve("--etcd-servers=http://a:1,http://b:2", "--etcd-servers", "http://c:3")
    assert config.storage.servers == ("http://a:1", "http://b:2", "http://c:3")


def test_a_given_list_replaces_the_default():
    config = serve(ETCD, "--requestheader-username-headers=X-User")
    assert config.auth.request_header.username_headers == ("X-User",)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("--leader-elect", True), ("--leader-elect=true", True), ("--leader-elect=false", False)],
)
def test_switches_take_a_value_or_none(argument, expected):
    assert serve(ETCD, argument).controllers.leader_elect is expected


@pytest.mark.parametrize("arguments", [("-v", "4"), ("-v=4",), ("--v=4",), ("--v", "4"), ("-v4",)])
def test_verbosity_has_the_spellings_of_klog(arguments):
    assert serve(ETCD, *arguments).verbosity == 4


def test_sqlite_is_a_url_with_an_absolute_path():
    assert serve("--storage=sqlite:///var/lib/jobs.db").storage == SQLiteConfig(path=Path("/var/lib/jobs.db"))


def test_the_size_of_a_transaction_is_that_of_etcd_unless_told():
    assert serve(ETCD).storage.max_txn_ops == 128
    assert serve(ETCD, "--etcd-max-txn-ops=4096").storage.max_txn_ops == 4096
    assert refused(ETCD, "--etcd-max-txn-ops=10") == (
        "--etcd-max-txn-ops: 10 is not between 128 and 2147483647",
    )


def test_durations_are_those_of_go():
    config = serve(ETCD, "--request-timeout=1h30m", "--shutdown-delay-duration=500ms")
    assert config.serving.request_timeout == 5400
    assert config.serving.shutdown_delay == 0.5


def test_all_errors_are_told_together():
    errors = refused(
        "--storage=etcd",
        "--secure-port=high",
        "--bind-address=nowhere",
        "--request-timeout=60",
        "--unknown=1",
        "--leader-elect=maybe",
        "--client-ca-file=/nonexistent",
    )
    assert sorted(errors) == [
        '--bind-address: "nowhere" is not an IP address',
        '--client-ca-file: there is no file "/nonexistent"',
        "--etcd-servers: must be given with --storage=etcd",
        '--leader-elect: "maybe" is neither true nor false',
        '--request-timeout: "60" is not a duration such as 60s or 1h30m',
        '--secure-port: "high" is not a whole number',
        "unknown flag or argument: --unknown=1",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((ETCD, "--secure-port=65536"), "--secure-port: 65536 is not between 0 and 65535"),
        (("--storage=mysql",), '--storage: "mysql" is neither etcd nor sqlite:///absolute/path'),
        (
            ("--storage=sqlite:///x.db", ETCD),
            "--etcd-servers: goes with --storage=etcd alone",
        ),
        (
            ("--etcd-servers=127.0.0.1:2379",),
            '--etcd-servers: "127.0.0.1:2379" is not a URL such as https://10.0.0.1:2379',
        ),
        ((ETCD, "--etcd-prefix=x/"), '--etcd-prefix: "x/" must begin with a slash and not end with one'),
        (
            (ETCD, "--leader-elect-lease-duration=5s"),
            "--leader-elect-lease-duration: must be longer than --leader-elect-renew-deadline",
        ),
        (
            (ETCD, "--leader-elect-retry-period=9s"),
            "--leader-elect-renew-deadline: must be over 1.2 times --leader-elect-retry-period",
        ),
        ((ETCD, "--cert-secret=name"), '--cert-secret: "name" is not of the form namespace/name'),
        (
            (ETCD, "--cert-secret=a/b", "--cert-dir=/c"),
            "--cert-secret: cannot be given together with --cert-dir",
        ),
        (
            (ETCD, "--authorization-always-allow-paths=healthz"),
            '--authorization-always-allow-paths: "healthz" must begin with a slash and may end with a *',
        ),
        ((ETCD, "--request-timeout=0s"), '--request-timeout: "0s" must be above 0'),
        ((ETCD, "--secure"), "unknown flag or argument: --secure"),
        ((ETCD, "extra"), "unknown flag or argument: extra"),
    ],
)
def test_a_bad_flag_gets_one_clear_sentence(arguments, error):
    assert refused(*arguments) == (error,)


def test_a_certificate_needs_its_key(tmp_path):
    certificate = tmp_path / "tls.crt"
    certificate.write_text("")
    assert refused(ETCD, f"--tls-cert-file={certificate}") == (
        "--tls-cert-file: must be given together with --tls-private-key-file",
    )


def test_a_flag_without_its_value_is_told():
    assert refused(ETCD, "--secure-port") == ("argument --secure-port: expected one argument",)


@pytest.mark.parametrize(
    ("names", "enabled"),
    [
        (("*",), True),
        (("*", "-inferencejob"), False),
        (("inferencejob",), True),
        (("other",), False),
        ((), False),
    ],
)
def test_controllers_are_chosen_by_name(names, enabled):
    assert ControllersConfig(names=names).enabled("inferencejob") is enabled


def test_dev_needs_no_flags():
    config = dev_config("dev", [])
    assert (config.nodes, config.gpus_per_node, config.sample, config.data_dir) == (8, 8, True, None)


def test_dev_takes_its_flags(tmp_path):
    config = dev_config(
        "dev",
        ["--data-dir", str(tmp_path), "--nodes=2", "--gpus-per-node=4", "--secure-port=0", "--no-sample"],
    )
    assert (config.data_dir, config.nodes, config.gpus_per_node) == (tmp_path, 2, 4)
    assert (config.secure_port, config.sample) == (0, False)


def test_install_registers_an_external_server():
    options = install_options("install", ["--external-name=localhost", "--port=9443", "--cert-dir=/c"])
    assert options.external is not None
    assert (options.external.host, options.external.port) == ("localhost", 9443)


def test_rules_of_the_deployment_are_told_as_well():
    with pytest.raises(OptionsError, match="1, 3 or 5 replicas"):
        manifest_options("manifests", ["--etcd-replicas=2"])


def test_uninstall_keeps_data_unless_told():
    assert not uninstall_options("uninstall", []).purge
    assert uninstall_options("uninstall", ["--purge"]).purge


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1.5h", 5400), ("1m30s", 90), ("100ms", 0.1), ("-2s", -2), (".5s", 0.5), ("1us", 1e-6)],
)
def test_a_go_duration_is_read(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("soon", 'time: invalid duration "soon"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5parsecs", 'time: unknown unit "parsecs" in duration "5parsecs"'),
        ("99999999999h", 'time: invalid duration "99999999999h"'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text, error):
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == error


@given(st.text())
def test_any_text_is_a_duration_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        parse_duration(text)
