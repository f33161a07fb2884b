"""The same request gets the same answer from our server and from a CRD, but for what is listed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from differential.case import Case
from differential.cases import table
from differential.differences import DIFFERENCES
from differential.verdict import Verdict

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("case", table(), ids=lambda case: case.name)
def test_we_answer_as_a_crd_does(case: Case, verdict_of: Callable[[Case], Verdict]) -> None:
    verdict = verdict_of(case)
    if verdict.unexpected or verdict.gone:
        pytest.fail(str(verdict), pytrace=False)


def test_every_listed_difference_is_still_there(verdict_of: Callable[[Case], Verdict]) -> None:
    met = {difference for case in table() for difference in verdict_of(case).listed}
    gone = [difference.reason for difference in DIFFERENCES if difference not in met]
    assert not gone
