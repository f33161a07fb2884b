"""What is particular to inference jobs and to GPU nodes, beyond their schemas."""

from __future__ import annotations

from typing import Any

from apiserver.apis.ai.conversion import without_carrier
from apiserver.apis.ai.pod_template import template_warnings
from apiserver.apis.ai.validation import SPEC, validate_job
from apiserver.machinery import field
from apiserver.machinery.field import FieldError
from apiserver.machinery.strategy import Strategy

Object = dict[str, Any]

FIXED_WHILE_HELD = ("gpuCount", "gpuProducts", "gpuResource", "replicas")
"""Fields that say how many GPUs of which kind the ledger has booked."""

_WHILE_HELD = "cannot be changed while GPUs are held: set spec.suspend to true first"


class InferenceJobStrategy(Strategy):
    """Rules of inference jobs."""

    def prepare_for_create(self, obj: Object) -> None:
        """A new job is Pending."""
        without_carrier(obj)
        obj["status"] = {"phase": "Pending"}

    def prepare_for_update(self, obj: Object, old: Object) -> None:  # noqa: ARG002
        """The conversion's annotation has no place in what is stored."""
        without_carrier(obj)

    def prepare_for_status_update(self, obj: Object, old: Object) -> None:  # noqa: ARG002
        """The conversion's annotation has no place in what is stored."""
        without_carrier(obj)

    def validate(self, obj: Object) -> list[FieldError]:
        """Rules between the fields of a job."""
        return validate_job(obj)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The same rules, and what may not change."""
        return [*validate_job(obj), *_held(obj["spec"], old), *_scratch(obj["spec"], old["spec"])]

    def warnings(self, obj: Object) -> list[str]:
        """What is allowed and has no effect."""
        spec = obj["spec"]
        warnings = template_warnings(spec)
        if spec["restartPolicy"] == "Always" and spec.get("ttlSecondsAfterFinished") is not None:
            warnings.append(
                "spec.ttlSecondsAfterFinished: has no effect: a job with restartPolicy Always does not finish"
            )
        return warnings


class GPUNodeStrategy(Strategy):
    """Rules of GPU nodes: there are none, for only the server itself writes them."""

    allow_unconditional_update = False


def _held(spec: Object, old: Object) -> list[FieldError]:
    """Refuse what would make the ledger wrong while it has GPUs booked for the job.

    A replica that has ended keeps its placement, with no GPUs.
    """
    placements = (old.get("status") or {}).get("placements") or ()
    if not any(placement.get("gpus") for placement in placements):
        return []
    changed = [key for key in FIXED_WHILE_HELD if (spec.get(key) or None) != (old["spec"].get(key) or None)]
    return [field.forbidden(SPEC.child(key), _WHILE_HELD) for key in changed]


def _scratch(spec: Object, old: Object) -> list[FieldError]:
    if spec.get("scratch") == old.get("scratch"):
        return []
    return [field.invalid(SPEC.child("scratch"), spec.get("scratch"), "field is immutable")]
