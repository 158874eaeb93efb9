# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Many plans of one model, workload and cluster, priced at the speed of the search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core, _html, _pandas
from .plans import Plan, one_mapping
from .specs import ClusterLike, ModelLike, ProfileLike, Workload, target_arguments

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Estimates:
    """What many plans take, an entry for each in its order.

    Attributes
    ----------
    step_s, low_s, high_s : float64 array
        Seconds of a step and the band around it; NaN for a plan that breaks a rule.
    tokens_per_second_per_gpu : float64 array
        Throughput; likewise.
    mfu, mfu_of_precision : float64 array
        Model FLOPs utilisation, as a share of the GPU's bf16 peak and of the peak of what the
        plan's products read; likewise.
    peak_bytes : int64 array
        What the fullest rank needs; 0 for a plan that breaks a rule.
    fits : bool array
        Whether it fits in the GPU's memory.
    problems : dict of int to str
        Why plans are not priced, by number: the text of the command line.
    """

    step_s: npt.NDArray[np.float64]
    low_s: npt.NDArray[np.float64] = field(repr=False)
    high_s: npt.NDArray[np.float64] = field(repr=False)
    tokens_per_second_per_gpu: npt.NDArray[np.float64] = field(repr=False)
    mfu: npt.NDArray[np.float64] = field(repr=False)
    mfu_of_precision: npt.NDArray[np.float64] = field(repr=False)
    peak_bytes: npt.NDArray[np.int64] = field(repr=False)
    fits: npt.NDArray[np.bool_] = field(repr=False)
    problems: Mapping[int, str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.step_s)

    def best(self) -> int | None:
        """Give the number of the fastest plan that fits; None: none does."""
        fitting = np.flatnonzero(self.fits)
        if len(fitting) == 0:
            return None
        return int(fitting[np.argmin(self.step_s[fitting])])

    def to_pandas(self) -> pandas.DataFrame:
        """Give the columns as a table, a row each plan."""
        columns = {k: v for k, v in vars(self).items() if k != "problems"}
        return _pandas.frame(
            columns | {"problem": [self.problems.get(i, "") for i in range(len(self))]}
        )

    def _repr_html_(self) -> str:
        best = self.best()
        rows: list[tuple[str, Any]] = [
            ("plans", len(self)),
            ("that fit", int(self.fits.sum())),
            ("that break a rule", len(self.problems)),
        ]
        if best is not None:
            rows.append(("fastest", f"#{best}, {_html.seconds(float(self.step_s[best]))}"))
        return _html.facts("estimates", rows)


class Estimator:
    """Prices plans of one model, workload and cluster.

    It remembers what plans share, so that a second look is quicker. The numbers are those of
    `predict`, bit for bit. Several threads may use one estimator.

    Parameters
    ----------
    model, cluster, gpus, workload, profile, runtime, accept_mismatch
        As of `predict`.
    """

    def __init__(
        self,
        model: ModelLike | None = None,
        cluster: ClusterLike | None = None,
        gpus: int | None = None,
        workload: Workload | None = None,
        *,
        profile: ProfileLike | None = None,
        runtime: str | None = None,
        accept_mismatch: bool = False,
    ) -> None:
        self._core = _core.PlanEstimator(
            target_arguments(model, cluster, gpus, workload, profile, runtime, accept_mismatch)
        )

    @property
    def assumed(self) -> list[str]:
        """What was not said and is taken, as options of the command line."""
        return self._core.assumed

    def estimate(self, plans: Iterable[Plan | Mapping[str, Any]]) -> Estimates:
        """Price plans: `Plan` objects, or dictionaries of their fields.

        Ctrl-C ends it with KeyboardInterrupt.
        """
        columns, problems = self._core.estimate([one_mapping(p) for p in plans])
        fits = columns.pop("fits").view(np.bool_)
        return Estimates(**columns, fits=fits, problems=dict(problems))


def estimate(
    plans: Iterable[Plan | Mapping[str, Any]],
    model: ModelLike | None = None,
    cluster: ClusterLike | None = None,
    gpus: int | None = None,
    workload: Workload | None = None,
    *,
    profile: ProfileLike | None = None,
    runtime: str | None = None,
    accept_mismatch: bool = False,
) -> Estimates:
    """Price many plans once; see `Estimator` for asking more often."""
    estimator = Estimator(
        model,
        cluster,
        gpus,
        workload,
        profile=profile,
        runtime=runtime,
        accept_mismatch=accept_mismatch,
    )
    return estimator.estimate(plans)
