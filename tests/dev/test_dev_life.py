"""From the start of `dev` to its end."""

from __future__ import annotations

import re
import signal
import socket
import stat
import subprocess
import sys

import pytest


def test_the_sample_goes_its_way_and_a_second_start_finds_it(start):
    dev = start()
    dev.says("default/sample: Succeeded")
    told = re.findall(r"^  default/sample: (\w+)", dev.output, re.MULTILINE)
    assert told == ["Pending", "Reconciling", "Ready", "Succeeded"]
    assert dev.process.poll() is None, "it stays up"
    uid = dev.kubectl("get", "ij", "sample", "-o", "jsonpath={.metadata.uid}")
    kubeconfig = dev.says(r"export KUBECONFIG=(\S+)")[1]
    assert kubeconfig == str(dev.data / "kubeconfig")
    assert stat.S_IMODE((dev.data / "kubeconfig").stat().st_mode) == 0o600
    assert dev.stop(signal.SIGINT) == 0
    assert "Stopped. What was there is kept in" in dev.output
    assert "Traceback" not in dev.output

    again = start()
    again.says("default/sample: Succeeded")
    assert "is there from before" in again.output
    assert again.kubectl("get", "ij", "sample", "-o", "jsonpath={.metadata.uid}") == uid
    assert again.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("said", ["", "Serving", "Submitted"])
def test_a_signal_ends_it_at_any_moment_without_a_traceback(start, eventually, number, said):
    dev = start()
    # Before Python has come to our first line, a signal ends it in Python's own way.
    eventually(lambda: (dev.data / "objects.db").exists())
    if said:
        dev.says(said)
    assert dev.stop(number) == 0
    assert "Traceback" not in dev.output


def test_a_taken_port_is_told_in_one_line(start, taken_port):
    dev = start(f"--secure-port={taken_port}")
    assert dev.process.wait(60) == 1
    assert dev.output == (
        f"inference-apiserver dev: cannot serve on port {taken_port} of 127.0.0.1:"
        " it is in use; --secure-port chooses another\n"
    )


def test_a_data_directory_in_use_is_told_in_one_line(start):
    first = start("--no-sample")
    first.says("Ctrl-C stops it")
    second = start("--no-sample")
    assert second.process.wait(60) == 1
    assert second.output == (
        f"inference-apiserver dev: {first.data / 'objects.db'} is in use by another process\n"
    )
    assert first.kubectl("get", "ns", "default", "-o", "name") == "namespace/default\n"


def test_the_fleet_has_the_size_that_is_asked_for_each_time(start, eventually):
    def sizes(dev, nodes):
        answer = dev.kubectl("get", "gpunodes", "-o", "jsonpath={.items[*].status.capacity}").split()
        return answer if len(answer) == nodes else None

    dev = start("--nodes=2", "--gpus-per-node=4")
    dev.says("Succeeded")
    assert sizes(dev, 2) == ["4", "4"]
    assert dev.stop() == 0
    empty = start("--nodes=0")
    empty.says("Ctrl-C stops it")
    eventually(lambda: empty.kubectl("get", "gpunodes") == "No resources found\n")
    assert empty.stop() == 0
    larger = start("--nodes=100", "--gpus-per-node=2")
    larger.says("1 node|100 nodes with 2 GPUs each")
    eventually(lambda: sizes(larger, 100) == ["2"] * 100)
    assert larger.stop() == 0


def test_a_job_without_room_says_why(start):
    dev = start("--nodes=0")
    dev.says(r"default/sample: Pending \(.*nodes?")
    assert dev.stop() == 0


def test_a_signal_while_storage_hangs_ends_serve_at_once(start, tmp_path):
    """etcd that never answers: the state is not read, and nothing waits for it at the end."""
    dev = start("--no-sample")
    dev.says("Ctrl-C stops it")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        flags = [
            f"--etcd-servers=http://127.0.0.1:{silent.getsockname()[1]}",
            f"--kubeconfig={dev.data / 'kubeconfig'}",
            "--authentication-skip-lookup",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            f"--cert-dir={tmp_path / 'certs'}",
        ]
        serving = subprocess.Popen([sys.executable, "-m", "apiserver.cli", "serve", *flags])
        try:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                serving.terminate()
                assert serving.wait(20) == 0
        finally:
            serving.kill()
            serving.wait()
