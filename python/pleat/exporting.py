# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""A plan in the words of another framework."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _html, _pandas
from .plans import PlanFile, plan_file_of
from .specs import PathLike

if TYPE_CHECKING:
    import pandas

Framework = Literal["megatron", "megatron-bridge", "torchtitan", "deepspeed"]


@dataclass(frozen=True)
class Export:
    """A plan in the words of another framework.

    Attributes
    ----------
    text : str
        The configuration or the script, as ``pleat export`` writes it.
    framework, version : str
        What it is for.
    settings : tuple of (str, tuple of str)
        Options or fields, with their values.
    environment : dict of str to str
        Variables to set.
    missing : tuple of dict
        What the framework cannot be told: "field", "value", "text".
    notes : tuple of str
        What else there is to know.
    report : dict
        All of it, as ``pleat export --json`` prints it.
    """

    text: str = field(repr=False)
    framework: str
    version: str
    settings: tuple[tuple[str, tuple[str, ...]], ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    missing: tuple[Mapping[str, str], ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    report: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def to_pandas(self) -> pandas.DataFrame:
        """Give the settings as a table: "name", "values"."""
        return _pandas.frame([{"name": n, "values": " ".join(v)} for n, v in self.settings])

    def _repr_html_(self) -> str:
        rows = [(name, " ".join(values)) for name, values in self.settings]
        rows += [
            (f"no counterpart: {m['field']}", f"{m['value']}: {m['text']}") for m in self.missing
        ]
        return _html.facts(f"{self.framework} {self.version}", rows)


def export(plan: PlanFile | PathLike, to: Framework) -> Export:
    """Give a plan in the words of another framework, as ``pleat export`` does.

    Parameters
    ----------
    plan : PlanFile or path
        The plan, with its model and its cluster.
    to : {"megatron", "megatron-bridge", "torchtitan", "deepspeed"}
        The framework.

    Raises
    ------
    PleatError
        For a plan that the framework cannot run.
    """
    file = plan_file_of(plan)
    report, text = _core.export(to, file.text, file.name)
    r: dict[str, Any] = json.loads(report)
    return Export(
        text=text,
        framework=r["framework"],
        version=r["version"],
        settings=tuple((s["name"], tuple(s["values"])) for s in r["settings"]),
        environment=r["environment"],
        missing=tuple(r["missing"]),
        notes=tuple(r["notes"]),
        report=r,
    )
