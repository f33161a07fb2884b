"""How Go prints strings and bytes in its error texts; kept in machinery for those outside of codec, too."""

from __future__ import annotations

from apiserver.machinery.gotext import quote, quote_byte

__all__ = ["quote", "quote_byte"]
