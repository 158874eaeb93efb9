# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Small tables for notebooks; the pages with charts are those of ``pleat … --html``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def seconds(value: float | None) -> str:
    """Show a time in a unit that fits."""
    if value is None:
        return "-"
    if value >= 1:
        return f"{value:.3f} s"
    return f"{value * 1e3:.2f} ms"


def gib(value: float | None) -> str:
    """Show bytes in GiB."""
    return "-" if value is None else f"{value / 2**30:.2f} GiB"


def percent(value: float | None) -> str:
    """Show a share in percent."""
    return "-" if value is None else f"{100 * value:.1f}%"


def mfu(of_precision: float | None, of_bf16: float | None) -> str:
    """Show a utilisation, and beside it that of bf16's peak where it is another."""
    if of_precision == of_bf16:
        return percent(of_bf16)
    return f"{percent(of_precision)} ({percent(of_bf16)} of bf16's)"


def facts(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Show names and values."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption><b>{escape(title)}</b></caption><tbody>{body}</tbody></table>"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Show rows below the names of their columns."""
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption><b>{escape(title)}</b></caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
