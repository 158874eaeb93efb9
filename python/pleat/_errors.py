# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Errors with the text and the exit code of the command line."""

from __future__ import annotations

from typing import Any


class PleatError(Exception):
    """What the command line would have refused.

    Attributes
    ----------
    text : str
        The message of the command line: ``error: …`` and hints, a line each.
    exit_code : int
        The exit code of the command line (docs/ARCHITECTURE.md).
    """

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        return (error_of, (self.text, self.exit_code))


class RequestError(PleatError):
    """The request is wrong: an argument, or a plan that breaks a named rule (exit code 2)."""


class FileError(PleatError):
    """A file is wrong: syntax, schema, type, range (exit code 3)."""


class NothingFitsError(PleatError):
    """The request is valid, but nothing fits, or a limit came before any plan (exit code 4).

    Attributes
    ----------
    answer : object or None
        Of `pleat.capacity`: what was found, a `pleat.Capacity`.
    """

    answer: Any = None


class DeviceOrIoError(PleatError):
    """A file or a device cannot be used (exit code 5)."""


class MismatchError(PleatError):
    """Plan, profile and target do not match (exit code 6)."""


_KINDS: dict[int, type[PleatError]] = {
    2: RequestError,
    3: FileError,
    4: NothingFitsError,
    5: DeviceOrIoError,
    6: MismatchError,
}


def error_of(text: str, exit_code: int) -> PleatError:
    """Give the exception of an exit code."""
    return _KINDS.get(exit_code, PleatError)(text, exit_code)
