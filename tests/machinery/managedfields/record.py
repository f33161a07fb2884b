"""Record what a real kube-apiserver makes of the sequences, into recorded.json.

Run by hand: `python tests/machinery/managedfields/record.py https://127.0.0.1:6443 TOKEN [TITLE…]`, with the
type of widget.yaml installed there. With titles, only those sequences are recorded anew.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
from sequences import SEQUENCES, Step

HERE = Path(__file__).parent


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(target, dict) or not isinstance(patch, dict):
        return patch
    out = {key: value for key, value in target.items() if key not in patch or patch[key] is not None}
    for key, value in patch.items():
        if value is not None:
            out[key] = merged(target.get(key), value)
    return out


def outcome(code: int, body: dict[str, Any]) -> dict[str, Any]:
    if body.get("kind") == "Status":
        causes = (body.get("details") or {}).get("causes") or []
        causes.sort(key=lambda cause: (cause.get("message", ""), cause.get("field", "")))
        return {"code": code, "message": body["message"], "causes": causes}
    metadata = body["metadata"]
    kept = {
        key: metadata[key]
        for key in ("labels", "annotations", "finalizers", "ownerReferences")
        if key in metadata
    }
    entries = [
        {key: value for key, value in entry.items() if key != "time"} | {"timed": "time" in entry}
        for entry in metadata.get("managedFields", [])
    ]
    result = {"code": code, "metadata": kept, "managedFields": entries}
    return result | {key: body[key] for key in ("spec", "status") if key in body}


async def run(client: httpx.AsyncClient, name: str, step: Step) -> dict[str, Any]:
    operation, manager, content, options = step
    content = json.loads(json.dumps(content).replace("NAME", name))
    version = options.get("v", "v1")
    collection = f"/apis/x.example.com/{version}/namespaces/default/widgets"
    query: dict[str, str] = {"fieldManager": manager} if manager else {}
    base = {"apiVersion": f"x.example.com/{version}", "kind": "Widget", "metadata": {"name": name}}
    path = f"{collection}/{name}" + (f"/{options['sub']}" if "sub" in options else "")
    if operation == "create":
        response = await client.post(collection, params=query, json=merged(base, content))
    elif operation == "put":
        live = (await client.get(f"{collection}/{name}")).json()
        response = await client.put(path, params=query, json=merged(live, content))
    else:
        if options.get("force"):
            query["force"] = "true"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        body = json.dumps(merged(base, content))
        response = await client.patch(path, params=query, content=body, headers=headers)
    return outcome(response.status_code, response.json())


async def main(server: str, token: str, *only: str) -> None:
    path = HERE / "recorded.json"
    recorded: dict[str, list[Any]] = json.loads(path.read_text()) if only else {}
    headers = {"Authorization": f"Bearer {token}", "User-Agent": "recorder/1.0 (test)"}
    async with httpx.AsyncClient(base_url=server, verify=False, headers=headers, timeout=30) as client:
        for number, (title, steps) in enumerate(SEQUENCES.items()):
            if only and title not in only:
                continue
            name = f"w{number}"
            await client.delete(f"/apis/x.example.com/v1/namespaces/default/widgets/{name}")
            recorded[title] = []
            for step in steps:
                answer = await run(client, name, step)
                recorded[title].append(json.loads(json.dumps(answer).replace(f"{name}", "NAME")))
                # Entries are sorted by seconds: let them differ, so that the order is always the same.
                await asyncio.sleep(1.05)
            patch = {"metadata": {"finalizers": []}}
            content = {"Content-Type": "application/merge-patch+json"}
            where = f"/apis/x.example.com/v1/namespaces/default/widgets/{name}"
            await client.patch(where, content=json.dumps(patch), headers=content)
            await client.delete(where)
            print(title)
    path.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
