# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What one plan takes: time, memory, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from . import _core, _html, _pandas
from .plans import PlanFile, PlanLike, plan_arguments
from .specs import ClusterLike, ModelLike, ProfileLike, Workload, given, target_arguments

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Change:
    """A single change of a plan, priced.

    Attributes
    ----------
    change : str
        "TP 2 -> 1".
    step_s, gain_s : float
        The step with it, and how much shorter that is, in seconds.
    peak_bytes, more_bytes : int
        The peak of the fullest rank with it, and by how much that is more.
    fits : bool
        Whether it fits in the GPU's memory.
    arithmetic : bool
        Whether it changes number formats.
    plan : str
        The plan with it, on one line.
    """

    change: str
    step_s: float
    gain_s: float
    peak_bytes: int
    more_bytes: int
    fits: bool
    arithmetic: bool
    plan: str


@dataclass(frozen=True)
class Explanation:
    """What bounds a step, and what single changes would do.

    Attributes
    ----------
    sentences : str
        In plain words.
    stage : int
        The busiest stage.
    bounds : tuple of dict
        Its parts, longest first: "part", "words", "time_s", "share".
    ops : tuple of dict
        Its operations, longest first; times are of each alone on the device.
    changes : tuple of Change
        Those that fit first, then the fastest first.
    """

    sentences: str
    stage: int
    bounds: tuple[Mapping[str, Any], ...] = field(repr=False)
    ops: tuple[Mapping[str, Any], ...] = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)

    @classmethod
    def of(cls, d: Mapping[str, Any]) -> Explanation:
        """Read the "explain" of a report."""
        changes = tuple(
            Change(
                change=c["change"],
                step_s=c["step_s"],
                gain_s=c["gain_s"],
                peak_bytes=c["peak_bytes"],
                more_bytes=c["more_bytes"],
                fits=c["fits"],
                arithmetic=c["arithmetic"],
                plan=c["summary"],
            )
            for c in d["changes"]
        )
        return cls(d["sentences"], d["stage"], tuple(d["bounds"]), tuple(d["ops"]), changes)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the changes as a table."""
        return _pandas.frame([vars(c) for c in self.changes])

    def _repr_html_(self) -> str:
        rows = [
            (c.change, _html.seconds(c.step_s), _html.seconds(c.gain_s), c.fits)
            for c in self.changes[:10]
        ]
        return f"<p>{escape(self.sentences)}</p>" + _html.table(
            "single changes", ("change", "step", "gain", "fits"), rows
        )


@dataclass(frozen=True)
class Prediction:
    """What a plan takes.

    Attributes
    ----------
    step_s : float
        Seconds of a step.
    low_s, high_s : float
        The band around it, in seconds.
    tokens_per_second, tokens_per_second_per_gpu : float
        Throughput.
    mfu : float
        Model FLOPs utilisation, as a share of the GPU's dense bf16 peak; may exceed 1 in fp8, fp4.
    mfu_of_precision : float
        The same as a share of the peak of what the plan's products read.
    fits : bool
        Whether the fullest rank fits in its GPU's memory.
    peak_bytes, gpu_memory_bytes : int
        What the fullest rank needs, and what a GPU has.
    parts_s : dict of str to float
        What the step's time is made of, in seconds; adds up to `step_s`.
    stages : tuple of dict
        By pipeline stage: "busy_s", "bubble_s", "memory_bytes" by kind.
    plan : str
        The plan on one line.
    plan_file : PlanFile
        The plan with its prediction, to save, to price again or to export.
    assumed : tuple of str
        What was not said and is taken, as options of the command line.
    refusal : str
        Why the runtime does not run such a plan; empty: it does.
    explanation : Explanation or None
        With `explain=True`.
    report : dict
        All of it, as ``pleat predict --json`` prints it (docs/FORMATS.md).
    """

    step_s: float
    low_s: float
    high_s: float
    tokens_per_second: float
    tokens_per_second_per_gpu: float
    mfu: float
    mfu_of_precision: float
    fits: bool
    peak_bytes: int
    gpu_memory_bytes: int
    parts_s: Mapping[str, float] = field(repr=False)
    stages: tuple[Mapping[str, Any], ...] = field(repr=False)
    plan: str
    plan_file: PlanFile = field(repr=False)
    assumed: tuple[str, ...] = field(repr=False)
    refusal: str
    explanation: Explanation | None = field(repr=False)
    report: Mapping[str, Any] = field(repr=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the parts of the step as a table: "part", "time_s", "share"."""
        return _pandas.frame(
            [
                {"part": part, "time_s": time, "share": time / self.step_s}
                for part, time in self.parts_s.items()
            ]
        )

    def _repr_html_(self) -> str:
        r = self.report
        rows: list[tuple[str, Any]] = [
            (
                "step",
                f"{_html.seconds(self.step_s)}, between {_html.seconds(self.low_s)} and "
                f"{_html.seconds(self.high_s)}",
            ),
            ("throughput", f"{self.tokens_per_second_per_gpu:.1f} tokens/s/GPU"),
            ("MFU", _html.mfu(self.mfu_of_precision, self.mfu)),
            (
                "memory",
                f"{_html.gib(self.peak_bytes)} of {_html.gib(self.gpu_memory_bytes)}"
                + ("" if self.fits else ": does not fit"),
            ),
            ("plan", self.plan),
        ]
        largest = sorted(self.parts_s.items(), key=lambda p: -p[1])
        parts = [
            (part, _html.seconds(time), _html.percent(time / self.step_s))
            for part, time in largest
            if time > 0
        ]
        return _html.facts(f"{r['model']} on {r['gpus']} x {r['cluster']}", rows) + _html.table(
            "where the step goes", ("part", "time", "share"), parts
        )


def predict(
    model: ModelLike | None = None,
    cluster: ClusterLike | None = None,
    gpus: int | None = None,
    workload: Workload | None = None,
    plan: PlanLike | None = None,
    *,
    profile: ProfileLike | None = None,
    runtime: str | None = None,
    tokens: str | float | None = None,
    explain: bool = False,
    threads: int = 0,
    accept_mismatch: bool = False,
) -> Prediction:
    """Predict time and memory of one plan, as ``pleat predict`` does.

    Parameters
    ----------
    model : Model, str or path
        The model; not needed beside a plan file, which has its own.
    cluster : Cluster, str or path
        The cluster.
    gpus : int
        GPUs of the job.
    workload : Workload
        Sequence length and batch.
    plan : Plan, PlanFile or path
        The plan; absent fields are the runtime's defaults.
    profile : Profile, str or path, optional
        What is known of the cluster's speed; by default its newest profile.
    runtime : {"megatron", "pleat"}, optional
        The dialect to compile for; by default the profile's.
    tokens : str or float, optional
        Tokens to train on, "15T": the report then has the days that they take.
    explain : bool, default False
        Also say what bounds the step and price every legal single change.
    threads : int, default 0
        Threads that price changes; 0: all cores.
    accept_mismatch : bool, default False
        Go on when the profile or the plan file was made for something else.

    Raises
    ------
    PleatError
        What the command line would refuse.
    """
    arguments = target_arguments(model, cluster, gpus, workload, profile, runtime, accept_mismatch)
    arguments.update(plan_arguments(plan))
    arguments.update(given(tokens=tokens, explain=explain, threads=threads))
    report_text, file_text, refusal = _core.predict(arguments)
    r: dict[str, Any] = json.loads(report_text)
    return Prediction(
        step_s=r["step_s"],
        low_s=r["band_s"][0],
        high_s=r["band_s"][1],
        tokens_per_second=r["tokens_per_second"],
        tokens_per_second_per_gpu=r["tokens_per_second_per_gpu"],
        mfu=r["mfu"],
        mfu_of_precision=r["mfu_of_precision"],
        fits=r["fits"],
        peak_bytes=r["peak_bytes"],
        gpu_memory_bytes=r["gpu_memory_bytes"],
        parts_s=r["parts_s"],
        stages=tuple(r["stages"]),
        plan=r["plan"],
        plan_file=PlanFile(file_text),
        assumed=tuple(r["assumed"]),
        refusal=refusal,
        explanation=Explanation.of(r["explain"]) if "explain" in r else None,
        report=r,
    )


def explain(
    model: ModelLike | None = None,
    cluster: ClusterLike | None = None,
    gpus: int | None = None,
    workload: Workload | None = None,
    plan: PlanLike | None = None,
    *,
    profile: ProfileLike | None = None,
    runtime: str | None = None,
    threads: int = 0,
    accept_mismatch: bool = False,
) -> Explanation:
    """Say what bounds a step and price every legal single change, as ``pleat predict --explain``.

    Parameters are those of `predict`.
    """
    explanation = predict(
        model,
        cluster,
        gpus,
        workload,
        plan,
        profile=profile,
        runtime=runtime,
        explain=True,
        threads=threads,
        accept_mismatch=accept_mismatch,
    ).explanation
    assert explanation is not None
    return explanation
