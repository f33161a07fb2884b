"""Python's garbage collector, set for a server.

Most of what lives here lives long (the modules, the watch cache) and is in no cycle, while each request makes
some hundred objects that reference counts free at once. With the defaults a full collection, which looks at
all that lives, came every thousand creates and stopped the loop for a tenth of a second; collections were a
tenth of a create's time. Must not know what is served.
"""

from __future__ import annotations

import gc

YOUNG = 10_000
"""Net new containers before the youngest generation is looked at (default 700: a few requests)."""


def settle() -> None:
    """Once all is loaded: what lives now is never looked at again, and what is new less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
