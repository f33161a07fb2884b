"""The difference of two states leads from one to the other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.cache import Entry
from storage.difference import difference

KEYS = [b"a", b"b", b"c", b"d"]
# What happens to a key at each revision: nothing, a write, or a deletion.
HISTORIES = st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=30)
State = dict[bytes, Entry[int]]


def states(history: list[tuple[bytes, bool]]) -> list[State]:
    """The state after each revision; 0 is the empty one."""
    result: list[State] = [{}]
    for key, written in history:
        revision, state = len(result), dict(result[-1])
        previous = state.pop(key, None)
        if written:
            created = previous.create_revision if previous else revision
            state[key] = Entry(key, b"", revision, created, revision)
        result.append(state)
    return result


@settings(derandomize=True, max_examples=300)
@given(HISTORIES, st.data())
def test_applying_the_difference_gives_the_new_state_in_rising_revisions(
    history: list[tuple[bytes, bool]], data: st.DataObject
) -> None:
    everything = states(history)
    new_at = len(everything) - 1
    old_at = data.draw(st.integers(0, new_at))
    old, new = everything[old_at], everything[new_at]
    state, revisions = dict(old), []
    for revision, changes in difference(old, new, new_at):
        revisions.append(revision)
        for change in changes:
            assert change.revision == revision
            assert change.previous is state.get(change.key)
            assert change.current is not change.previous
            if change.current is None:
                assert everything[revision].get(change.key) is None
                del state[change.key]
            else:
                assert change.current.mod_revision == revision
                state[change.key] = change.current
    assert state == new
    assert revisions == sorted(set(revisions))
    assert all(old_at < revision <= new_at for revision in revisions)
