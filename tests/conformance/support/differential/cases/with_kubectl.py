"""What a person sees: kubectl's output, word by word."""

from __future__ import annotations

from collections.abc import Iterator

from differential.case import Body, Case, Kubectl, job

R = "inferencejobs.v1.${group}"
EDITOR = {"KUBE_EDITOR": "sed -i s/vllm:1/vllm:2/"}


def _run(*args: str, stdin: Body = "", env: dict[str, str] | None = None) -> Kubectl:
    return Kubectl(args, stdin, env or {})


CREATE = _run("create", "-f", "-", stdin=job())
APPLY = _run("apply", "-f", "-", stdin=job())


def cases() -> Iterator[Case]:
    """The rows about kubectl."""
    yield Case("kubectl: create and get", [CREATE, _run("get", R), _run("get", R, "a")])
    yield Case("kubectl: create twice", [CREATE, CREATE])
    yield Case("kubectl: create invalid", [_run("create", "-f", "-", stdin=job(spec={"gpuCount": 0}))])
    yield Case("kubectl: create with an unknown field", [_run("create", "-f", "-", stdin=job(spec={"x": 1}))])
    yield Case(
        "kubectl: create with an unknown field, warn",
        [_run("create", "--validate=warn", "-f", "-", stdin=job(spec={"x": 1}))],
    )
    yield Case(
        "kubectl: create, dry run",
        [_run("create", "--dry-run=server", "-f", "-", stdin=job()), _run("get", R)],
    )
    yield Case("kubectl: get nothing", [_run("get", R)])
    yield Case("kubectl: get what is not there", [_run("get", R, "zz")])
    yield Case("kubectl: get as json", [CREATE, _run("get", R, "a", "-o", "json")])
    yield Case("kubectl: get a list as json", [CREATE, _run("get", R, "-o", "json")])
    yield Case("kubectl: get as names", [CREATE, _run("get", R, "-o", "name")])
    yield Case("kubectl: get by jsonpath", [CREATE, _run("get", R, "a", "-o", "jsonpath={.spec.image}")])
    yield Case(
        "kubectl: get labels",
        [CREATE, _run("get", R, "-l", "app=x"), _run("get", R, "-l", "app!=x", "-o", "name")],
    )
    yield Case(
        "kubectl: get fields", [CREATE, _run("get", R, "--field-selector", "spec.priority=0", "-o", "name")]
    )
    yield Case("kubectl: get a bad field", [CREATE, _run("get", R, "--field-selector", "spec.image=0")])
    yield Case("kubectl: get in chunks", [CREATE, _run("get", R, "--chunk-size=1", "-o", "name")])
    yield Case(
        "kubectl: apply, apply, change",
        [
            APPLY,
            APPLY,
            _run("apply", "-f", "-", stdin=job(spec={"priority": 1})),
            _run("get", R, "a", "-o", "json"),
        ],
    )
    yield Case(
        "kubectl: apply removes a field",
        [_run("apply", "-f", "-", stdin=job(spec={"priority": 1})), APPLY, _run("get", R, "a", "-o", "json")],
    )
    yield Case(
        "kubectl: apply, server side",
        [
            _run("apply", "--server-side", "-f", "-", stdin=job()),
            _run("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=job(spec={"image": "b"})),
        ],
    )
    yield Case("kubectl: apply to what was created", [CREATE, APPLY])
    yield Case(
        "kubectl: apply, then server side",
        [
            APPLY,
            _run("apply", "--server-side", "-f", "-", stdin=job(spec={"priority": 1})),
            _run("get", R, "a", "-o", "json", "--show-managed-fields"),
        ],
    )
    yield Case("kubectl: apply invalid", [_run("apply", "-f", "-", stdin=job(spec={"replicas": "x"}))])
    yield Case(
        "kubectl: diff",
        [APPLY, _run("diff", "-f", "-", stdin=job()), _run("diff", "--server-side", "-f", "-", stdin=job())],
    )
    yield Case("kubectl: replace", [CREATE, _run("replace", "-f", "-", stdin=job(spec={"priority": 3}))])
    yield Case(
        "kubectl: replace by force",
        [CREATE, _run("replace", "--force", "-f", "-", stdin=job(spec={"priority": 3}))],
    )
    yield Case(
        "kubectl: edit",
        [CREATE, _run("edit", R, "a", env=EDITOR), _run("get", R, "a", "-o", "jsonpath={.spec.image}")],
    )
    yield Case(
        "kubectl: label and annotate",
        [
            CREATE,
            _run("label", R, "a", "x=y"),
            _run("label", R, "a", "x=z"),
            _run("annotate", R, "a", "n=1"),
            _run("label", R, "a", "x-"),
        ],
    )
    yield Case(
        "kubectl: patch",
        [
            CREATE,
            _run("patch", R, "a", "--type=merge", "-p", '{"spec":{"priority":4}}'),
            _run("patch", R, "a", "--type=merge", "-p", '{"spec":{"priority":4}}'),
        ],
    )
    yield Case(
        "kubectl: patch by json",
        [
            CREATE,
            _run("patch", R, "a", "--type=json", "-p", '[{"op":"test","path":"/spec/image","value":"x"}]'),
        ],
    )
    yield Case(
        "kubectl: patch strategically", [CREATE, _run("patch", R, "a", "-p", '{"spec":{"priority":4}}')]
    )
    yield Case(
        "kubectl: patch the status",
        [
            CREATE,
            _run(
                "patch", R, "a", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Ready"}}'
            ),
            _run("get", R),
        ],
    )
    yield Case("kubectl: get the status", [CREATE, _run("get", R, "a", "--subresource=status", "-o", "json")])
    yield Case(
        "kubectl: scale",
        [
            CREATE,
            _run("scale", R, "a", "--replicas=3"),
            _run("scale", R, "a", "--replicas=0"),
            _run("scale", R, "a", "--current-replicas=9", "--replicas=4"),
        ],
    )
    yield Case(
        "kubectl: wait for a condition that comes not",
        [CREATE, _run("wait", R, "a", "--for=condition=Ready", "--timeout=1s")],
    )
    yield Case(
        "kubectl: wait for a field",
        [CREATE, _run("wait", R, "a", "--for=jsonpath={.spec.gpuCount}=1", "--timeout=5s")],
    )
    yield Case(
        "kubectl: delete",
        [
            CREATE,
            _run("delete", R, "a"),
            _run("delete", R, "a"),
            _run("delete", R, "a", "--ignore-not-found"),
        ],
    )
    yield Case("kubectl: delete all", [CREATE, _run("delete", R, "--all"), _run("get", R, "-o", "name")])
    yield Case(
        "kubectl: delete in the foreground",
        [
            CREATE,
            _run("delete", R, "a", "--cascade=foreground", "--wait=false"),
            _run("get", R, "a", "-o", "json"),
        ],
    )
    yield Case(
        "kubectl: explain a field", [_run("explain", "inferencejob.spec.gpuCount", "--api-version=${gv}")]
    )
    yield Case("kubectl: explain", [_run("explain", "inferencejob", "--api-version=${gv}")])
    yield Case(
        "kubectl: explain all", [_run("explain", "inferencejob", "--api-version=${gv}", "--recursive")]
    )
    yield Case(
        "kubectl: explain what is not there",
        [_run("explain", "inferencejob.spec.nothing", "--api-version=${gv}")],
    )
    yield Case("kubectl: describe", [CREATE, _run("describe", R, "a")])
    yield Case("kubectl: may I", [_run("auth", "can-i", "create", R)])
    yield Case("kubectl: the raw path", [CREATE, _run("get", "--raw", "${objects}/a")])
    yield Case("kubectl: the raw path of nothing", [_run("get", "--raw", "${objects}/zz")])
