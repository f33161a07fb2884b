"""What differs from a CRD on purpose, and why. A listed difference that is gone fails like a new one."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass

from differential.compare import ABSENT, Mismatch

PROTOBUF = "application/vnd.kubernetes.protobuf"


@dataclass(frozen=True)
class Difference:
    """Mismatches that are explained. With `cases` (patterns of names) each of these cases must show it.

    Without, it may turn up anywhere, and does so somewhere in the table.
    """

    reason: str
    explains: Callable[[Mismatch], bool]
    cases: tuple[str, ...] = ()

    def concerns(self, case: str) -> bool:
        """Whether the case may differ in this way."""
        return not self.cases or any(fnmatch.fnmatchcase(case, pattern) for pattern in self.cases)


def _anything(mismatch: Mismatch) -> bool:
    return True


def _at(*patterns: str) -> Callable[[Mismatch], bool]:
    def explains(mismatch: Mismatch) -> bool:
        # Brackets stand for themselves in our paths, and for a set of characters in a pattern.
        return any(fnmatch.fnmatchcase(mismatch.path, pattern.replace("[", "[[]")) for pattern in patterns)

    return explains


def _without(*words: str) -> Callable[[Mismatch], bool]:
    """Ours is theirs but for one of these words."""

    def explains(mismatch: Mismatch) -> bool:
        theirs = mismatch.theirs
        return isinstance(theirs, str) and mismatch.ours in [theirs.replace(word, "") for word in words]

    return explains


def _page_not_found(mismatch: Mismatch) -> bool:
    theirs, ours = mismatch.theirs_answer, mismatch.ours_answer
    return theirs.get("body") == "404 page not found\n" and ours["body"].get("code") == 404


def _own_fault(mismatch: Mismatch) -> bool:
    theirs, ours = mismatch.theirs_answer, mismatch.ours_answer
    return theirs.get("code") == 500 and ours.get("code") in (400, 406, 422)


def _owner_of_status(mismatch: Mismatch) -> bool:
    ours_lacks_it = (mismatch.theirs, mismatch.ours) == ({}, ABSENT)
    return ours_lacks_it and mismatch.path.endswith(".fieldsV1.f:status..")


def _empty_list(mismatch: Mismatch) -> bool:
    return mismatch.path.endswith(".items") and (mismatch.theirs, mismatch.ours) == (None, [])


def _quotes_the_phase(mismatch: Mismatch) -> bool:
    """A text that quotes the whole object is theirs but for the phase in it."""
    theirs, ours = mismatch.theirs, mismatch.ours
    if not isinstance(theirs, str) or not isinstance(ours, str):
        return False
    return theirs == re.sub(r',\\*"status\\*":\{\\*"phase\\*":\\*"Pending\\*"\}', "", ours)


def _warns(text: str) -> Callable[[Mismatch], bool]:
    def explains(mismatch: Mismatch) -> bool:
        return mismatch.path.endswith(".headers.warning") and text in str(mismatch.ours)

    return explains


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "We offer no protobuf, and say so where the media types that we offer are listed.",
        _without(f", {PROTOBUF}", f", {PROTOBUF};stream=watch"),
    ),
    Difference(
        "Where a client accepts JSON beside protobuf we answer in JSON, else with 406 or 415.",
        _anything,
        (
            "get: accept protobuf",
            "list: accept protobuf",
            "get: accept partial as informers ask",
            "list: accept partial list as informers ask",
            "create: answer as protobuf",
            "create: as application/vnd.kubernetes.protobuf",
            "watch: accept protobuf",
        ),
    ),
    Difference(
        "Our watches reach back before the start of the server, where storage still has the history.",
        _anything,
        ("watch: from too long ago",),
    ),
    Difference("Every failure is a Status, also that of an unknown path.", _page_not_found),
    Difference(
        "What kube-apiserver calls its own fault (500) is the client's: the request cannot be read.",
        _own_fault,
    ),
    Difference(
        "The addresses of discovery documents can only be read: another method is refused.",
        _anything,
        tuple(
            f"method: {method} of the group version"
            for method in ("OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE")
        ),
    ),
    Difference(
        "A method that HTTP does not know does not pass our parser.", _anything, ("method: FOO of the *",)
    ),
    Difference(
        "The description of the column Name is in our own words.", _at("*.columnDefinitions[0].description")
    ),
    Difference("An empty list is [] and never null.", _empty_list, ("list: nothing, partial",)),
    Difference(
        "A job has the phase Pending from the start: who sets another field is not the first in status.",
        _owner_of_status,
    ),
    Difference(
        "A job has the phase Pending from the start, and selectors see it.",
        _anything,
        ("list: fields status.phase=",),
    ),
    Difference(
        "A job has the phase Pending from the start, and kubectl describes it.",
        _at("[1].out"),
        ("kubectl: describe",),
    ),
    Difference(
        "Our columns are computed; a CRD prints what a path leads to.",
        _at("[*].out*"),
        ("kubectl: create and get", "kubectl: patch the status"),
    ),
    Difference(
        "apiVersion, kind and metadata are described in our own words.", _at("[0].out"), ("kubectl: explain",)
    ),
    Difference(
        "We warn of fields that have no effect.",
        _warns("ttlSecondsAfterFinished"),
        ("create: everything set",),
    ),
    Difference(
        "Pods are named after the job, which limits the length of its name.",
        _anything,
        ("create: metadata, name longest",),
    ),
    Difference(
        "A CRD sends nothing on a watch of PartialObjectMetadataList; we send PartialObjectMetadata.",
        _at("[0].events"),
        ("watch: accept partial list",),
    ),
    Difference(
        "Nothing is below a subresource.",
        _anything,
        ("path: ${root}/namespaces/${ns}/inferencejobs/a/status/more",),
    ),
    Difference(
        "kube-apiserver takes the revision of the list for a precondition of each deletion.",
        _anything,
        ("deletecollection: ?resourceVersion=0",),
    ),
    Difference(
        "A job has the phase Pending from the start, also where a bad patch is quoted.",
        _quotes_the_phase,
        (
            "merge: label number",
            "json patch: label number",
            "merge: unknown field, Strict",
            "merge: duplicate key, Strict",
            "json patch: unknown field, Strict",
        ),
    ),
    Difference(
        "The status of a patched object begins with the phase that it has had from the start.",
        _at("[1].body.details.causes[0].message", "[1].body.message"),
        ("status: merge of an unknown field",),
    ),
    Difference(
        "A JSON patch that cannot be applied is answered with the reason: a CRD keeps it to itself.",
        _at("[1].body.details.causes", "[1].err[0]"),
        (
            *(
                f"json patch: {name}"
                for name in (
                    "remove what is missing",
                    "add below what is missing",
                    "test that fails",
                    "test of what is missing",
                    "list index too high",
                    "copy",
                    "unknown op",
                    "no op",
                    "no path",
                )
            ),
            "kubectl: patch by json",
        ),
    ),
    Difference(
        "A change of the scale is noted with its time, like every other.",
        _at("[2].body.metadata.managedFields[1].time"),
        (
            "scale: update, up",
            "scale: update, right revision",
            "scale: update, unknown field",
            "scale: merge",
            "scale: merge by a manager",
        ),
    ),
    Difference(
        "A scale that changes nothing writes nothing.",
        _anything,
        ("scale: update, the same", "scale: merge of something else"),
    ),
    Difference(
        "A body that is no Scale is told what is wrong with it.",
        _at("[1].body.message"),
        (
            "scale: update, string",
            "scale: update, other kind",
            "scale: update, no kind",
            "scale: update, extensions kind",
            "scale: update, broken",
        ),
    ),
    Difference(
        "A Scale is no row of a table: whoever asks for one is told so.",
        _anything,
        ("scale: get as table", "scale: get as partial"),
    ),
    Difference(
        "Replicas are owned in the version of the job, whichever way they were set.",
        _at("[1].body.details.causes[0].message", "[1].body.message"),
        ("scale: apply",),
    ),
    Difference(
        "The parameter shardSelector (alpha) is not offered.",
        _at("[0].body.*.parameters"),
        ("openapi: operations",),
    ),
    Difference("kube-apiserver names a place in its source code.", _without(' "pkg/runtime/scheme.go:111"')),
)


def expected(case: str) -> tuple[Difference, ...]:
    """The differences listed for a case."""
    return tuple(difference for difference in DIFFERENCES if difference.concerns(case))
