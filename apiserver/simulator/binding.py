"""`pods/binding`: what a scheduler posts to give a pod its node."""

from __future__ import annotations

from typing import Any

from apiserver.endpoints.call import Call
from apiserver.endpoints.negotiation import accepted, body_media_type
from apiserver.endpoints.respond import send_object
from apiserver.machinery import errors
from apiserver.machinery.codec import decode
from apiserver.machinery.options import WriteOptions
from apiserver.registry.verbs.update import Update, update

Object = dict[str, Any]


async def bind(call: Call) -> None:
    """Set the pod's node; 201. Raises 400 for a target that is no node, 404,
    and 409 when the pod has a node."""
    media_type: Any = body_media_type(call.header(b"content-type"))
    body = decode(await call.body(), media_type, kind="Binding").obj
    target = body.get("target")
    if not isinstance(target, dict) or not target.get("name") or target.get("kind", "Node") != "Node":
        raise errors.bad_request("target.name: Required value: a binding names a node")
    info, caller = call.request.info, call.caller()
    resource = call.store.resource

    def mutate(live: Object | None) -> Object:
        assert live is not None, "a binding never creates"
        spec = live["spec"]
        if spec.get("nodeName"):
            why = f'pod {info.name} is already assigned to node "{spec["nodeName"]}"'
            raise errors.conflict(resource.group_resource, info.name, why)
        spec["nodeName"] = target["name"]
        return live

    options = WriteOptions(field_manager=caller.user_agent)
    await update(Update(call.store, call.version, info.namespace, info.name, "", mutate, options, caller))
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    await send_object(call.send, call.request, 201, accepted(call.request), status)
