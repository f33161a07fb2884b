"""Write the templates of the Helm chart from the builders of the plain manifests, so that both stay the same.

The builders are called with placeholders where the chart has values; in their text the placeholders are
replaced by template expressions. `--check` fails when the files here are not what would be written.

Run as `python deploy/chart/generate.py [--check]`.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from deploy.etcd import etcd
from deploy.manifests import to_yaml
from deploy.objects import Object
from deploy.options import NAME, EtcdOptions, ManifestOptions
from deploy.rbac import rbac
from deploy.registration import api_services, service
from deploy.workload import budget, cert_secret, deployment, service_account

TEMPLATES = Path(__file__).parent / "templates"
HEADER = "{{- /* Written by deploy/chart/generate.py from the builders in deploy/. */}}\n"

# Numbers that occur nowhere else, so that they can be found again in the text.
REPLICAS, GROUP_PRIORITY, VERSION_PRIORITY = 424201, 19876, 987
OPTIONS = ManifestOptions(
    image="@image@",
    namespace="@namespace@",
    replicas=REPLICAS,
    ca_bundle=b"ca",
    group_priority_minimum=GROUP_PRIORITY,
    version_priority=VERSION_PRIORITY,
    extra_args=("@extra-args@",),
    etcd=EtcdOptions(image="@etcd-image@", storage="@etcd-storage@", storage_class="@etcd-storage-class@"),
)
ETCD_FORMAT = f"http://{NAME}-etcd.%s.svc:2379"
OUR_ETCD = ETCD_FORMAT % "{{ .Release.Namespace }}"
EXPRESSIONS = (
    (r"'?@namespace@'?", "{{ .Release.Namespace }}"),
    (
        r"( *)image: '@image@'",
        r'\1image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"'
        "\n"
        r"\1imagePullPolicy: {{ .Values.image.pullPolicy }}",
    ),
    (r"'@etcd-image@'", "{{ .Values.etcd.image | quote }}"),
    (r"'@etcd-storage@'", "{{ .Values.etcd.storage | quote }}"),
    (
        r"( *)storageClassName: '@etcd-storage-class@'\n",
        r"\1{{- with .Values.etcd.storageClass }}"
        "\n"
        r"\1storageClassName: {{ . | quote }}"
        "\n"
        r"\1{{- end }}"
        "\n",
    ),
    (
        r"( *)- '@extra-args@'\n",
        r"\1{{- range .Values.extraArgs }}"
        "\n"
        r"\1- {{ . | quote }}"
        "\n"
        r"\1{{- end }}"
        "\n",
    ),
    (
        rf"--etcd-servers={re.escape(OUR_ETCD)}",
        '--etcd-servers={{ join "," .Values.etcd.servers '
        f'| default (printf "{ETCD_FORMAT}" .Release.Namespace) }}}}',
    ),
    (
        r"( *)- (--etcd-max-txn-ops=\d+)\n",
        r"\1{{- if not .Values.etcd.servers }}"
        "\n"
        r"\1- \2"
        "\n"
        r"\1{{- end }}"
        "\n",
    ),
    (rf"replicas: {REPLICAS}", "replicas: {{ .Values.replicas }}"),
    (
        rf"groupPriorityMinimum: {GROUP_PRIORITY}",
        "groupPriorityMinimum: {{ .Values.apiService.groupPriorityMinimum }}",
    ),
    (rf"versionPriority: {VERSION_PRIORITY}", "versionPriority: {{ .Values.apiService.versionPriority }}"),
    (
        rf"versionPriority: {VERSION_PRIORITY - 1}",
        "versionPriority: {{ sub (int .Values.apiService.versionPriority) 1 }}",
    ),
    (
        r"( *)caBundle: Y2E=\n",
        r"\1{{- with .Values.apiService.caBundle }}"
        "\n"
        r"\1caBundle: {{ . | quote }}"
        "\n"
        r"\1{{- end }}"
        "\n",
    ),
)
"""A pattern in the text of the manifests, and its template expression; applied in this order."""
CONTAINER_RESOURCES = re.compile(r"^( *)resources:\n(?:\1  .*\n)*?\1    cpu: .*\n(?:\1  .*\n)*", re.MULTILINE)


def chart() -> dict[str, str]:
    """The templates by file name."""
    own_etcd = _text(etcd(OPTIONS), "etcd.resources")
    return {
        "access.yaml": _text([service_account(OPTIONS), *rbac(OPTIONS.namespace, NAME)]),
        "server.yaml": _text(
            [cert_secret(OPTIONS), service(OPTIONS), budget(OPTIONS), deployment(OPTIONS)], "resources"
        ),
        "etcd.yaml": f"{{{{- if not .Values.etcd.servers }}}}\n{own_etcd}{{{{- end }}}}\n",
        "apiservices.yaml": _text(api_services(OPTIONS)),
    }


def _text(objects: list[Object], resources: str = "") -> str:
    text = to_yaml(objects)
    if resources:
        text = CONTAINER_RESOURCES.sub(
            lambda found: (
                f"{found[1]}resources:\n"
                f"{found[1]}  {{{{- toYaml .Values.{resources} | nindent {len(found[1]) + 2} }}}}\n"
            ),
            text,
        )
    for pattern, expression in EXPRESSIONS:
        text = re.sub(pattern, expression, text)
    if "@" in text:
        raise AssertionError("a placeholder has no expression")
    return text


def main() -> int:
    """Write the templates, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    check = parser.parse_args().check
    wanted = {name: HEADER + text for name, text in chart().items()}
    stale = [name for name, text in wanted.items() if _read(TEMPLATES / name) != text]
    stale += [path.name for path in TEMPLATES.glob("*.yaml") if path.name not in wanted]
    if check:
        for name in stale:
            print(
                f"deploy/chart/templates/{name} is not what deploy/chart/generate.py writes", file=sys.stderr
            )
        return 1 if stale else 0
    TEMPLATES.mkdir(exist_ok=True)
    for name, text in wanted.items():
        (TEMPLATES / name).write_text(text)
    return 0


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
