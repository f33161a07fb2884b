"""The pods of a job, as they should be. Pure: what is made of the spec, and whether a pod still is what it
should be.

`spec.podTemplate` is the ground, the fields of the spec are laid over it. The container that runs the model
is called `inference`; a container of that name in the template is merged with it, others run beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from apiserver.controllers.inferencejob import names
from apiserver.controllers.inferencejob.view import JobView
from apiserver.controllers.placement.facts import pod_use, tolerations_of
from apiserver.controllers.placement.model import Demand

Object = dict[str, Any]

CONTAINER = "inference"
MODEL_VARIABLE = "INFERENCE_MODEL"
SCRATCH_VOLUME = "scratch"
SCRATCH_PATH = "/scratch"
MAX_LABEL = 63

_HASHED = (
    "image",
    "model",
    "command",
    "args",
    "env",
    "gpuCount",
    "gpuResource",
    "resources",
    "nodeSelector",
    "tolerations",
    "restartPolicy",
    "scratch",
    "podTemplate",
)
"""The fields of the spec that a pod is made from. What is hashed is the user's intent and not the pod built
from it: a new version of this server must not restart every job."""


def spec_hash(view: JobView) -> str:
    """Changes when the pods have to be made anew."""
    intent = {key: view.spec[key] for key in _HASHED if view.spec.get(key)}
    return hashlib.sha256(orjson.dumps(intent, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def build(view: JobView, replica: int) -> Object:
    """The pod of a replica, not bound yet."""
    template = view.spec.get("podTemplate") or {}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **own_labels(view, replica)}
    annotations = {**(metadata.get("annotations") or {}), names.HASH_ANNOTATION: spec_hash(view)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": view.pod_name(replica),
            "namespace": view.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference(view)],
        },
        "spec": _pod_spec(view, replica, template.get("spec") or {}),
    }


def demand_of(view: JobView) -> Demand:
    """What each replica needs: read off its pod, so that sidecars and overhead are part of it."""
    use = pod_use(build(view, 0))
    return Demand(
        resource=view.resource,
        gpus=view.gpus,
        products=tuple(sorted(view.spec.get("gpuProducts") or ())),
        cpu=use.cpu,
        memory=use.memory,
        selector=tuple(sorted((view.spec.get("nodeSelector") or {}).items())),
        tolerations=tolerations_of(_tolerations(view)),
    )


def owner_reference(view: JobView) -> Object:
    """What makes the garbage collector delete a child with the job."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": view.name,
        "uid": view.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def own_labels(view: JobView, replica: int) -> dict[str, str]:
    """The labels by which people select the pods; a name that is too long for a label is cut."""
    job = view.name[:MAX_LABEL].rstrip("-._")
    return {names.JOB_LABEL: job, names.REPLICA_LABEL: str(replica)}


def controller_of(obj: Object) -> Object | None:
    """The owner reference that is the controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Object = reference
            return found
    return None


def owner_uid(pod: Object) -> str:
    """The UID of the InferenceJob that controls the pod; "" if none does."""
    owner = controller_of(pod)
    return str(owner["uid"]) if owner is not None and owner.get("kind") == names.KIND else ""


def replica_of(pod: Object) -> int | None:
    """The replica that the pod's name says it is (labels can be edited, names cannot)."""
    owner = controller_of(pod)
    if owner is None:
        return None
    prefix, _, number = str(pod["metadata"]["name"]).rpartition("-")
    return int(number) if prefix == owner.get("name") and number.isdigit() else None


def drifted(view: JobView, pod: Object) -> str:
    """How a pod differs from what the spec says, for people; "" if it does not."""
    if (pod["metadata"].get("annotations") or {}).get(names.HASH_ANNOTATION) != spec_hash(view):
        return "it was made from another spec"
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == CONTAINER and container.get("image") != view.spec["image"]:
            return f"its image was changed to {container.get('image')}"
    return ""


def scratch_claim_name(view: JobView, replica: int) -> str:
    """The volume claim of a replica; one of a single replica needs no number."""
    return f"{view.name}-scratch" if view.replicas == 1 else f"{view.name}-scratch-{replica}"


def scratch_claim(view: JobView, replica: int, node: str) -> Object:
    """The volume claim of a replica. The annotation is what kube-scheduler sets for volumes that are made
    where their first consumer is."""
    scratch = view.spec["scratch"]
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": str(scratch["size"])}},
    }
    if scratch.get("storageClassName"):
        spec["storageClassName"] = scratch["storageClassName"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": scratch_claim_name(view, replica),
            "namespace": view.namespace,
            "labels": own_labels(view, replica),
            "annotations": {"volume.kubernetes.io/selected-node": node},
            "ownerReferences": [owner_reference(view)],
        },
        "spec": spec,
    }


def _pod_spec(view: JobView, replica: int, template: Object) -> Object:
    spec = {
        **template,
        "schedulerName": names.SCHEDULER,
        "restartPolicy": view.restart_policy,
        "containers": _containers(view, template.get("containers") or ()),
    }
    tolerations = _tolerations(view)
    if tolerations:
        spec["tolerations"] = tolerations
    if view.spec.get("nodeSelector"):
        spec["nodeSelector"] = view.spec["nodeSelector"]
    if view.spec.get("scratch"):
        claim = {"claimName": scratch_claim_name(view, replica)}
        volume = {"name": SCRATCH_VOLUME, "persistentVolumeClaim": claim}
        spec["volumes"] = _merge(template.get("volumes") or (), [volume])
    return spec


def _containers(view: JobView, templates: Iterable[Object]) -> list[Object]:
    """Ours first: `kubectl logs` and `exec` take the first one."""
    others = [container for container in templates if container.get("name") != CONTAINER]
    ground = next((container for container in templates if container.get("name") == CONTAINER), {})
    return [_container(view, ground), *others]


def _container(view: JobView, ground: Object) -> Object:
    container: Object = {**ground, "name": CONTAINER, "image": view.spec["image"]}
    for key in ("command", "args"):
        if view.spec.get(key):
            container[key] = view.spec[key]
    env = list(view.spec.get("env") or ())
    if view.spec.get("model"):
        env = _merge([{"name": MODEL_VARIABLE, "value": view.spec["model"]}], env)
    env = _merge(ground.get("env") or (), env)
    if env:
        container["env"] = env
    container["resources"] = _resources(view, ground.get("resources") or {})
    if view.spec.get("scratch"):
        mounts = [mount for mount in ground.get("volumeMounts") or () if mount.get("name") != SCRATCH_VOLUME]
        container["volumeMounts"] = [*mounts, {"name": SCRATCH_VOLUME, "mountPath": SCRATCH_PATH}]
    return container


def _resources(view: JobView, ground: Object) -> Object:
    """GPUs cannot be overcommitted: limits and requests are equal."""
    gpus = {view.resource: str(view.gpus)}
    requests = {key: str(value) for key, value in (view.spec.get("resources") or {}).items()}
    return {
        **ground,
        "requests": {**(ground.get("requests") or {}), **requests, **gpus},
        "limits": {**(ground.get("limits") or {}), **gpus},
    }


def _tolerations(view: JobView) -> list[Object]:
    """Those of the spec, and the GPU taint that the admission plugin
    ExtendedResourceToleration would tolerate."""
    own: list[Object] = list(view.spec.get("tolerations") or ())
    usual = {"key": view.resource, "operator": "Exists", "effect": "NoSchedule"}
    return own if usual in own else [*own, usual]


def _merge(ground: Iterable[Object], over: Iterable[Object]) -> list[Object]:
    """Two lists of named objects; of equal names, `over` wins, in the place of `ground`."""
    above = {item["name"]: item for item in over}
    merged = [above.pop(item["name"], item) for item in ground]
    return [*merged, *above.values()]
