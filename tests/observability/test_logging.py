"""Logs are one JSON object a line, whoever writes them."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys

import pytest
import structlog

from apiserver.observability.logging import configure_logging, verbosity


@pytest.fixture
def lines():
    """What is logged, read back; the set-up of before is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()

    def start(level=0):
        configure_logging(level, stream)
        return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

    yield start
    root.handlers[:] = handlers
    root.setLevel(level)
    configure_logging(0, sys.stderr)
    root.handlers[:] = handlers
    structlog.reset_defaults()


def test_an_event_has_its_fields_level_and_time(lines):
    read = lines()
    structlog.get_logger().info("bound", job="ml/llama", seconds=0.5)
    (line,) = read()
    assert line.pop("ts").endswith("Z")
    assert line == {"event": "bound", "level": "info", "job": "ml/llama", "seconds": 0.5}


def test_libraries_log_in_the_same_form(lines):
    read = lines()
    logging.getLogger("some.library").warning("it is %s", "late")
    (line,) = read()
    assert (line["event"], line["level"], line["logger"]) == ("it is late", "warning", "some.library")


def test_a_traceback_stays_on_its_line(lines):
    read = lines()
    try:
        raise KeyError("missing")
    except KeyError:
        structlog.get_logger().exception("failed")
    (line,) = read()
    assert "KeyError: 'missing'" in line["exception"]


def test_a_terminal_gets_text_without_local_variables(lines):
    lines()
    stream = io.StringIO()
    configure_logging(0, stream, as_json=False)
    secret = "hunter2"
    try:
        raise KeyError(len(secret))
    except KeyError:
        structlog.get_logger().exception("failed")
    assert "failed" in stream.getvalue()
    assert "KeyError: 7" in stream.getvalue()
    assert "= 'hunter2'" not in stream.getvalue()


def test_debugging_is_for_high_verbosity(lines):
    read = lines(3)
    structlog.get_logger().debug("detail")
    assert read() == []
    read = lines(4)
    structlog.get_logger().debug("detail")
    assert [line["event"] for line in read()] == ["detail"]
    assert verbosity() == 4


def test_chatty_libraries_are_quiet_unless_debugging(lines):
    read = lines()
    logging.getLogger("uvicorn.error").info("Shutting down")
    assert read() == []


def test_a_logger_made_before_the_set_up_follows_it():
    code = (
        "import structlog; log = structlog.get_logger();"
        "from apiserver.observability.logging import configure_logging;"
        "configure_logging(0); log.info('late')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert json.loads(done.stderr)["event"] == "late"
