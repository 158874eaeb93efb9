# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Published runs, predicted and compared with what was measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _html, _pandas
from .specs import PathLike, ProfileLike, given, source_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class ErrorSummary:
    """What is said about many errors at once; shares, 0.02 for 2%.

    Attributes
    ----------
    count : int
        How many errors.
    median, p90, mean, worst : float
        Of their absolute values.
    bias : float
        The median of the signed ones.
    """

    count: int
    median: float
    p90: float
    mean: float
    worst: float
    bias: float


@dataclass(frozen=True)
class Validation:
    """Predictions against published runs.

    Attributes
    ----------
    rows : tuple of dict
        A run each: "measured_step_s", "predicted_step_s", "error" (a share), …
    error, memory_error : ErrorSummary
        Of step times and of peak memory.
    missed : int
        Runs that could not be predicted.
    report : dict
        All of it, as ``pleat validate --json`` prints it.
    """

    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    error: ErrorSummary
    memory_error: ErrorSummary
    missed: int
    report: Mapping[str, Any] = field(repr=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the runs as a table, a row each."""
        return _pandas.frame(
            [{k: v for k, v in r.items() if not isinstance(v, (list, dict))} for r in self.rows]
        )

    def _repr_html_(self) -> str:
        rows = [
            (what, e.count, _html.percent(e.median), _html.percent(e.p90), _html.percent(e.worst))
            for what, e in (("step time", self.error), ("peak memory", self.memory_error))
        ]
        return _html.table(
            f"{len(self.rows)} published runs",
            ("errors of", "runs", "median", "P90", "worst"),
            rows,
        )


def validate(
    rows: Iterable[PathLike] | None = None,
    *,
    tiers: Iterable[str] | None = None,
    recipes: bool = False,
    know: Literal["all", "tables", "datasheet"] | None = None,
    profiles: Iterable[ProfileLike] | None = None,
    threads: int = 0,
) -> Validation:
    """Predict published runs and compare, as ``pleat validate`` does.

    Parameters
    ----------
    rows : list of path, optional
        Files of runs, one JSON object a line; by default those that ship.
    tiers : list of str, optional
        Only rows of these tiers.
    recipes : bool, default False
        Also search beside every row of tier A.
    know : {"all", "tables", "datasheet"}, default "all"
        What predictions know of a cluster.
    profiles : list of Profile or path, optional
        Profiles to use in place of the shipped ones.
    threads : int, default 0
        Threads; 0: all cores.
    """
    text = _core.validate(
        given(
            rows=None if rows is None else [os.fspath(r) for r in rows],
            tier=None if tiers is None else list(tiers),
            recipes=recipes,
            know=know,
            profile=None if profiles is None else [source_of(p) for p in profiles],
            threads=threads,
        )
    )
    r: dict[str, Any] = json.loads(text)
    s = r["summary"]
    return Validation(
        rows=tuple(r["rows"]),
        error=ErrorSummary(**s["error"]),
        memory_error=ErrorSummary(**s["memory_error"]),
        missed=s["missed"],
        report=r,
    )
