# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What to book: how many of which GPUs, days, dollars."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _core, _html, _pandas
from ._errors import NothingFitsError, error_of
from .specs import ClusterLike, ModelLike, PathLike, given, source_of

if TYPE_CHECKING:
    import pandas

Amount = Union[str, float]


@dataclass(frozen=True)
class Offer:
    """So many GPUs of a cluster, and what the job takes on them.

    Attributes
    ----------
    cluster : str
        The cluster.
    gpus : int
        GPUs of the job; those that are paid are in `booking`.
    problem : str
        Why it cannot be; empty: it can, and the fields below are there.
    plan : str
        The best plan on one line.
    proven : bool
        Whether it is certain that no plan is faster.
    step_s : float
        Seconds of a step.
    mfu : float
        Model FLOPs utilisation, as a share of the GPU's dense bf16 peak; may exceed 1 in fp8, fp4.
    mfu_of_precision : float
        The same as a share of the peak of what the plan's products read.
    days_p50, days_p90 : float
        Days to train, with failures, saves and restarts.
    dollars_p50, dollars_p90 : float
        US dollars of the job.
    booking : dict
        All figures (docs/FORMATS.md, "Capacity").
    """

    cluster: str
    gpus: int
    problem: str
    plan: str = ""
    proven: bool = False
    step_s: float | None = None
    mfu: float | None = None
    mfu_of_precision: float | None = None
    days_p50: float | None = None
    days_p90: float | None = None
    dollars_p50: float | None = None
    dollars_p90: float | None = None
    booking: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, d: Mapping[str, Any]) -> Offer:
        """Read an offer of a report."""
        b = d.get("booking")
        if not b:
            return cls(d["cluster"], d["gpus"], d["problem"] or "")
        return cls(
            cluster=d["cluster"],
            gpus=d["gpus"],
            problem=d["problem"] or "",
            plan=b["plan"],
            proven=b["proven"],
            step_s=b["step_s"],
            mfu=b["mfu"],
            mfu_of_precision=b["mfu_of_precision"],
            days_p50=b["days"]["p50"],
            days_p90=b["days"]["p90"],
            dollars_p50=b["dollars"]["p50"],
            dollars_p90=b["dollars"]["p90"],
            booking=b,
        )


@dataclass(frozen=True)
class Capacity:
    """What to book.

    Attributes
    ----------
    offers : tuple of Offer
        Clusters in the order of the question, sizes ascending.
    cheapest, fastest : Offer or None
        Of those that meet the goals.
    front : tuple of Offer
        Those that no other beats in time and cost.
    report : dict
        All of it, as ``pleat capacity --json`` prints it (docs/FORMATS.md).
    """

    offers: tuple[Offer, ...]
    cheapest: Offer | None
    fastest: Offer | None
    front: tuple[Offer, ...] = field(repr=False)
    report: Mapping[str, Any] = field(repr=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the offers as a table, a row each."""
        return _pandas.frame(
            [{k: v for k, v in vars(o).items() if k != "booking"} for o in self.offers]
        )

    def _repr_html_(self) -> str:
        def number(value: float | None, scale: float = 1) -> str:
            return "-" if value is None else f"{value / scale:.3g}"

        rows = [
            (
                o.cluster,
                o.gpus,
                number(o.days_p50),
                number(o.days_p90),
                number(o.dollars_p50, 1e6),
                number(o.dollars_p90, 1e6),
                _html.mfu(o.mfu_of_precision, o.mfu),
                o.problem or o.plan,
            )
            for o in self.offers
        ]
        columns = (
            "cluster",
            "GPUs",
            "days P50",
            "days P90",
            "M USD P50",
            "M USD P90",
            "MFU",
            "plan",
        )
        return _html.table(f"{self.report['model']}: what to book", columns, rows)


def capacity(
    model: ModelLike,
    *,
    tokens: Amount,
    clusters: Iterable[ClusterLike],
    deadline: str | None = None,
    budget: Amount | None = None,
    gpus: str | Iterable[int] | None = None,
    gpu_step: int | None = None,
    confidence: Literal["p50", "p90"] | None = None,
    tuning: Literal["untuned", "typical", "best"] | None = None,
    precision: str | Mapping[str, str] | None = None,
    numerics: Literal["megatron-default", "recipe", "any"] | None = None,
    seq_len: int | None = None,
    global_batch: int | None = None,
    routing: PathLike | None = None,
    imbalance: float | None = None,
    batch_rule: Literal["constant", "critical"] | None = None,
    critical_batch: Amount | None = None,
    price: Amount | Mapping[str, Amount] | None = None,
    mtbf: Amount | Mapping[str, Amount] | None = None,
    rates: Mapping[str, float] | None = None,
    rates_file: PathLike | None = None,
    proven: bool = False,
    threads: int = 0,
) -> Capacity:
    """Find what to book, as ``pleat capacity`` does.

    Ctrl-C ends the search and raises KeyboardInterrupt.

    Parameters
    ----------
    model : Model, str or path
        The model.
    tokens : str or float
        Tokens to train on, "15T".
    clusters : list of Cluster, str or path
        Clusters to choose from.
    deadline : str, optional
        Time there is, "60d", "8w" or "1440h".
    budget : str or float, optional
        US dollars there are, "20M".
    gpus : str or list of int, optional
        Sizes to try, "256..4096" or a list.
    gpu_step : int, optional
        Of a range, the multiples of this instead of powers of two.
    confidence : {"p50", "p90"}, default "p90"
        How sure deadline and budget must hold.
    tuning : {"untuned", "typical", "best"}, default "typical"
        How near to the best plan the run will be.
    precision : str or dict of str to str, optional
        "bf16", "mxfp8" …, for all or by cluster.
    numerics : str, default "megatron-default"
        What number formats are chosen from.
    seq_len, global_batch : int, default 4096
        Tokens of a sequence, sequences of a step.
    routing, imbalance
        As of `Workload`.
    batch_rule, critical_batch
        "constant", or "critical" up to so many tokens of a step, "60M".
    price : float, str or dict, optional
        US dollars per GPU-hour, for all or by cluster.
    mtbf : float, str or dict, optional
        GPU-hours between failures that stop a job, for all or by cluster.
    rates : dict of str to float, optional
        Any other input, `{"restart_minutes": 15}` or `{"h100-sxm:pue": 1.3}`.
    rates_file : path, optional
        A rates file, laid over the shipped one.
    proven : bool, default False
        Search until every plan is proven to be the best; otherwise large searches end after a few
        seconds, mostly within 3% of it.
    threads : int, default 0
        Threads of the search; 0: all cores.

    Raises
    ------
    NothingFitsError
        When nothing meets the goals; its `answer` is the Capacity.
    PleatError
        What else the command line would refuse.
    """
    arguments = given(
        model=source_of(model),
        tokens=tokens,
        deadline=deadline,
        budget=budget,
        clusters=[source_of(c) for c in clusters],
        gpus=gpus if gpus is None or isinstance(gpus, str) else ",".join(str(n) for n in gpus),
        gpu_step=gpu_step,
        confidence=confidence,
        precision=_by_cluster(precision, "="),
        numerics=numerics,
        seq_len=seq_len,
        global_batch=global_batch,
        routing=None if routing is None else os.fspath(routing),
        imbalance=imbalance,
        tuning=tuning,
        batch_rule=batch_rule,
        critical_batch=critical_batch,
        price=_by_cluster(price, "="),
        mtbf=_by_cluster(mtbf, "="),
        rate=_by_cluster(rates, "="),
        rates=None if rates_file is None else os.fspath(rates_file),
        proven=proven or None,
        threads=threads,
    )
    text, misses = _core.capacity(arguments)
    r: dict[str, Any] = json.loads(text)
    offers = tuple(Offer.of(o) for o in r["offers"])

    def at(index: int | None) -> Offer | None:
        return None if index is None else offers[index]

    answer = Capacity(
        offers=offers,
        cheapest=at(r["cheapest"]),
        fastest=at(r["fastest"]),
        front=tuple(offers[i] for i in r["front"]),
        report=r,
    )
    if misses:
        error = error_of(f"error: {misses}", 4)
        assert isinstance(error, NothingFitsError)
        error.answer = answer
        raise error
    return answer


def _by_cluster(
    value: Amount | Mapping[str, Amount] | Mapping[str, str] | Mapping[str, float] | None, sign: str
) -> list[str] | None:
    """Write what may differ by cluster as the options take it."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return [f"{name}{sign}{one}" for name, one in value.items()]
    return [str(value)]
