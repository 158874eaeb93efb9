# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The best plans for a model on a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _core, _html, _pandas
from .plans import PlanFile
from .prediction import Explanation
from .specs import ClusterLike, ModelLike, ProfileLike, Workload, given, target_arguments

if TYPE_CHECKING:
    import pandas

Pin = Union[int, float, bool, str, Iterable[int], Iterable[str]]
Goal = Literal["throughput", "time-to-train", "cost", "memory-headroom"]


@dataclass(frozen=True)
class RankedPlan:
    """One of the best plans.

    Attributes
    ----------
    plan : str
        The plan on one line.
    step_s, low_s, high_s : float
        Seconds of a step, and the band around it.
    tokens_per_second_per_gpu : float
        Throughput.
    mfu : float
        Model FLOPs utilisation, as a share of the GPU's dense bf16 peak; may exceed 1 in fp8, fp4.
    mfu_of_precision : float
        The same as a share of the peak of what the plan's products read.
    peak_bytes : int
        What the fullest rank needs.
    parts_s : dict of str to float
        What the step's time is made of, in seconds.
    against_best : str
        Why it is slower than the first; empty for the first.
    predicted_only : tuple of str
        Of the runtime Pleat: what its executor does not run as fast yet as is predicted here.
    plan_file : PlanFile
        The plan, to save, to price again or to export.
    """

    plan: str
    step_s: float
    low_s: float
    high_s: float
    tokens_per_second_per_gpu: float
    mfu: float
    mfu_of_precision: float
    peak_bytes: int
    parts_s: Mapping[str, float] = field(repr=False)
    against_best: str = field(repr=False)
    predicted_only: tuple[str, ...] = field(repr=False)
    plan_file: PlanFile = field(repr=False)


@dataclass(frozen=True)
class SearchAnswer:
    """The best plans, and what is proven of them.

    Attributes
    ----------
    plans : tuple of RankedPlan
        The best first.
    optimal : bool
        Whether no plan of the space is faster under the model.
    bound_s : float
        No plan of the space has a step below it, in seconds.
    enumerated, priced : int
        Plans of the space, and how many of them were priced.
    compared : tuple of dict
        Published and given recipes beside the winner.
    assumed : tuple of str
        What was not said and is taken, as options of the command line.
    explanation : Explanation or None
        Of the first plan, with `explain=True`.
    report : dict
        All of it, as ``pleat plan --json`` prints it (docs/FORMATS.md).
    """

    plans: tuple[RankedPlan, ...]
    optimal: bool
    bound_s: float | None
    enumerated: int
    priced: int
    compared: tuple[Mapping[str, Any], ...] = field(repr=False)
    assumed: tuple[str, ...] = field(repr=False)
    explanation: Explanation | None = field(repr=False)
    report: Mapping[str, Any] = field(repr=False)

    @property
    def best(self) -> RankedPlan:
        """The first of the plans."""
        return self.plans[0]

    def __iter__(self) -> Iterator[RankedPlan]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the plans as a table, a row each."""
        return _pandas.frame(
            [
                {
                    "plan": p.plan,
                    "step_s": p.step_s,
                    "low_s": p.low_s,
                    "high_s": p.high_s,
                    "tokens_per_second_per_gpu": p.tokens_per_second_per_gpu,
                    "mfu": p.mfu,
                    "mfu_of_precision": p.mfu_of_precision,
                    "peak_bytes": p.peak_bytes,
                }
                for p in self.plans
            ]
        )

    def _repr_html_(self) -> str:
        r = self.report
        rows = [
            (
                i + 1,
                _html.seconds(p.step_s),
                f"{p.tokens_per_second_per_gpu:.1f}",
                _html.mfu(p.mfu_of_precision, p.mfu),
                _html.gib(p.peak_bytes),
                p.plan,
            )
            for i, p in enumerate(self.plans)
        ]
        proof = "proven best" if self.optimal else "the best so far"
        return _html.table(
            f"{r['model']} on {r['gpus']} x {r['cluster']}: {proof} of {self.enumerated:,} plans",
            ("#", "step", "tokens/s/GPU", "MFU", "peak", "plan"),
            rows,
        )


def plan(
    model: ModelLike | None = None,
    cluster: ClusterLike | None = None,
    gpus: int | None = None,
    workload: Workload | None = None,
    *,
    profile: ProfileLike | None = None,
    runtime: str | None = None,
    tokens: str | float | None = None,
    top: int | None = None,
    certain: int | None = None,
    objective: Goal | None = None,
    slack: float | None = None,
    min_gpus: int | None = None,
    pareto: bool = False,
    robust: bool = False,
    compare: Sequence[str] | None = None,
    explain: bool = False,
    sensitivity: Literal["plans", "search"] | None = None,
    numerics: Literal["megatron-default", "recipe", "any"] | None = None,
    time_limit: float | None = None,
    max_evaluations: int | None = None,
    neighbours: int | None = None,
    memory_margin: float | None = None,
    threads: int = 0,
    accept_mismatch: bool = False,
    **pins: Pin,
) -> SearchAnswer:
    """Find the best plans for a model on a cluster, as ``pleat plan`` does.

    Ctrl-C ends the search and raises KeyboardInterrupt.

    Parameters
    ----------
    model, cluster, gpus, workload, profile, runtime, tokens, accept_mismatch
        As of `predict`.
    top : int, default 5
        How many plans to list.
    certain : int, default 1
        How many of them, the first ones, are proven to be the best; the others are the best that
        were met on the way. More takes longer.
    objective : str, default "throughput"
        "throughput", "time-to-train", "cost" or "memory-headroom".
    slack : float, default 0.05
        How much slower than the fastest a plan with less memory may be, as a share.
    min_gpus : int, optional
        The fewest GPUs that "time-to-train" and "cost" try; by default a sixteenth.
    pareto : bool, default False
        Also list step time against memory (`report["front"]`).
    robust : bool, default False
        Rank by the upper end of the prediction's band.
    compare : list of str, optional
        Recipes to price beside the winner, "tp=1,pp=2,vpp=8,ep=32".
    explain : bool, default False
        Also say what binds the best plan and what would change the answer.
    sensitivity : {"plans", "search"}, optional
        Under 20% more and less of each input, price the best plans again, or search anew.
    numerics : str, default "megatron-default"
        What number formats are chosen from, where they are not given.
    time_limit : float, optional
        Seconds after which the search ends with the best so far.
    max_evaluations, neighbours : int, optional
        Most estimates of the search; estimates for plans outside of its space.
    memory_margin : float, default 0.05
        Share of the GPU's memory that is kept free.
    threads : int, default 0
        Threads of the search; 0: all cores.
    **pins
        The only values that the search may choose, one or several: `tp=[1, 2]`,
        `dispatcher="deepep"`, `precision="mxfp8"`, `ep_overlap=True`. Names are those of
        ``pleat plan --help``, with underscores (`pleat.search_arguments()`).

    Raises
    ------
    NothingFitsError
        When no plan fits, with what would.
    PleatError
        What else the command line would refuse.
    """
    arguments = target_arguments(model, cluster, gpus, workload, profile, runtime, accept_mismatch)
    arguments.update(
        given(
            tokens=tokens,
            top=top,
            certain=certain,
            objective=objective,
            slack=slack,
            min_gpus=min_gpus,
            pareto=pareto,
            robust=robust,
            compare=None if compare is None else list(compare),
            explain=explain,
            sensitivity=sensitivity,
            numerics=numerics,
            time_limit=time_limit,
            max_evaluations=max_evaluations,
            neighbours=neighbours,
            memory_margin=memory_margin,
            threads=threads,
        )
    )
    arguments.update(pins)
    text, files = _core.plan(arguments)
    r: dict[str, Any] = json.loads(text)
    plans = tuple(
        RankedPlan(
            plan=p["plan"]["summary"],
            step_s=p["step_s"],
            low_s=p["low_s"],
            high_s=p["high_s"],
            tokens_per_second_per_gpu=p["tokens_per_second_per_gpu"],
            mfu=p["mfu"],
            mfu_of_precision=p["mfu_of_precision"],
            peak_bytes=p["peak_bytes"],
            parts_s=p["parts_s"],
            against_best=p.get("against_best", ""),
            predicted_only=tuple(t["what"] for t in p.get("predicted_only", ())),
            plan_file=PlanFile(file),
        )
        for p, file in zip(r["best"], files)
    )
    return SearchAnswer(
        plans=plans,
        optimal=r["certificate"]["optimal"],
        bound_s=r["certificate"]["bound_s"],
        enumerated=r["enumerated"],
        priced=r["priced"],
        compared=tuple(r["compared"]),
        assumed=tuple(r["assumed"]),
        explanation=Explanation.of(r["explain"]) if "explain" in r else None,
        report=r,
    )


def search_arguments() -> list[str]:
    """Give the names of what a search may be pinned to."""
    return _core.search_arguments()
