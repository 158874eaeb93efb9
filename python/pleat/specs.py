# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be trained, on what, and how it is fed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from . import _core, _html

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Model:
    """A model, read from its Hugging Face configuration.

    Attributes
    ----------
    name : str
        "deepseek-v3", or what the file is called.
    source : str
        The shipped name or the path that it was read from.
    layers, moe_layers : int
        Layers, and those of them with experts.
    hidden, vocab : int
        Width of the residual stream, tokens of the vocabulary.
    experts, top_k : int
        Experts of a layer and how many of them a token visits; 0 for dense models.
    parameters : dict of str to int
        "total", "active" (of a token), and by part.
    model_flops_per_token : float
        Of forward and backward, at `seq_len` tokens.
    seq_len : int
        Tokens of a sequence that `model_flops_per_token` is for.
    assumptions : tuple of str
        What the file does not say and was taken.
    unused_fields : tuple of str
        Fields of the file that say nothing to Pleat.
    """

    name: str
    source: str
    layers: int
    moe_layers: int
    hidden: int
    vocab: int
    experts: int
    top_k: int
    parameters: Mapping[str, int]
    model_flops_per_token: float
    seq_len: int
    assumptions: tuple[str, ...] = ()
    unused_fields: tuple[str, ...] = ()

    @classmethod
    def from_hf(cls, source: PathLike, *, seq_len: int = 4096) -> Model:
        """Read a model.

        Parameters
        ----------
        source : str or path
            Name of a shipped model (`pleat.models()`) or the path of a Hugging Face config.json.
        seq_len : int, default 4096
            Tokens of a sequence, for `model_flops_per_token`.
        """
        name = os.fspath(source)
        d: dict[str, Any] = json.loads(_core.model(name, seq_len))
        return cls(
            name=d["name"],
            source=name,
            layers=d["layers"],
            moe_layers=d["moe_layers"],
            hidden=d["hidden"],
            vocab=d["vocab"],
            experts=d.get("experts") or 0,
            top_k=d.get("top_k") or 0,
            parameters=d["parameters"],
            model_flops_per_token=d["model_flops_per_token"],
            seq_len=d["seq_len"],
            assumptions=tuple(d["assumptions"]),
            unused_fields=tuple(d["unused_fields"]),
        )

    def _repr_html_(self) -> str:
        return _html.facts(
            self.name,
            [
                ("parameters", f"{self.parameters['total']:,}"),
                ("active", f"{self.parameters['active']:,}"),
                ("layers", f"{self.layers}, {self.moe_layers} of them with experts"),
                ("experts", f"top {self.top_k} of {self.experts}" if self.experts else "none"),
                ("hidden", self.hidden),
            ],
        )


@dataclass(frozen=True)
class Cluster:
    """A cluster: its GPU, its nodes and its network.

    Attributes
    ----------
    name : str
        "h100-sxm", or what the file calls it.
    source : str
        The shipped name or the path that it was read from.
    document : dict
        Its file (docs/FORMATS.md); quantities are strings with units.
    """

    name: str
    source: str
    document: Mapping[str, Any] = field(repr=False)

    @classmethod
    def load(cls, source: PathLike) -> Cluster:
        """Read a shipped cluster (`pleat.clusters()`) or a cluster file."""
        given = os.fspath(source)
        name, text = _core.cluster(given)
        return cls(name=name, source=given, document=json.loads(text))

    def _repr_html_(self) -> str:
        return _html.facts(self.name, [(k, v) for k, v in self.document.items() if k != "sources"])


@dataclass(frozen=True)
class Profile:
    """What is known of a cluster's speed: tables, fitted constants, efficiencies.

    Attributes
    ----------
    name : str
        "h100-sxm-megatron".
    source : str
        The shipped name or the path that it was read from.
    document : dict
        Its file (docs/FORMATS.md).
    """

    name: str
    source: str
    document: Mapping[str, Any] = field(repr=False)

    @classmethod
    def load(cls, source: PathLike) -> Profile:
        """Read a shipped or fitted profile by its name, or a profile file."""
        given = os.fspath(source)
        name, text = _core.profile(given)
        return cls(name=name, source=given, document=json.loads(text))


@dataclass(frozen=True)
class Workload:
    """What a step trains on.

    Attributes
    ----------
    seq_len : int
        Tokens of a sequence.
    global_batch : int
        Sequences of a step, over all GPUs.
    capacity_factor : float, optional
        Tokens an expert takes, over the balanced mean; the rest are dropped. Absent: none are.
    pad_to_capacity : bool
        Every expert's tokens are padded to its capacity.
    straggler_slowdown : float, optional
        Expected slow-down of the slowest rank over the mean, 0.02 for 2%.
    unbound_ranks : bool
        Ranks are not bound to the cores next to their GPU; the host takes longer.
    documents : sequence of int, optional
        Lengths in tokens of the documents that sequences are packed from, equally frequent.
    routing : str or path, optional
        "balanced", "natural", "aux-loss", "aux-loss-free", "untrained", or a file of loads.
    imbalance : float, optional
        Tokens of the busiest rank of an expert-parallel group over the mean.
    """

    seq_len: int | None = None
    global_batch: int | None = None
    capacity_factor: float | None = None
    pad_to_capacity: bool = False
    straggler_slowdown: float | None = None
    unbound_ranks: bool = False
    documents: Sequence[int] | None = None
    routing: PathLike | None = None
    imbalance: float | None = None


ModelLike = Union[Model, PathLike]
ClusterLike = Union[Cluster, PathLike]
ProfileLike = Union[Profile, PathLike]


def source_of(spec: Model | Cluster | Profile | PathLike) -> str:
    """Give the name or path of a specification."""
    if isinstance(spec, (Model, Cluster, Profile)):
        return spec.source
    return os.fspath(spec)


def given(**arguments: Any) -> dict[str, Any]:
    """Keep the arguments that say something."""
    return {k: v for k, v in arguments.items() if v is not None and v is not False}


def target_arguments(
    model: ModelLike | None,
    cluster: ClusterLike | None,
    gpus: int | None,
    workload: Workload | None,
    profile: ProfileLike | None,
    runtime: str | None,
    accept_mismatch: bool,
) -> dict[str, Any]:
    """Put together what the options of a target would be given."""
    w = workload if workload is not None else Workload()
    return given(
        model=None if model is None else source_of(model),
        cluster=None if cluster is None else source_of(cluster),
        gpus=gpus,
        profile=None if profile is None else source_of(profile),
        runtime=runtime,
        accept_mismatch=accept_mismatch,
        seq_len=w.seq_len,
        global_batch=w.global_batch,
        capacity_factor=w.capacity_factor,
        pad_to_capacity=w.pad_to_capacity,
        straggler_slowdown=w.straggler_slowdown,
        unbound_ranks=w.unbound_ranks,
        documents=None if w.documents is None else list(w.documents),
        routing=None if w.routing is None else os.fspath(w.routing),
        imbalance=w.imbalance,
    )


def models() -> list[str]:
    """Give the names of the models that ship."""
    return [m["name"] for m in json.loads(_core.models())["models"]]


def clusters() -> list[str]:
    """Give the names of the clusters that ship."""
    return [c["name"] for c in json.loads(_core.clusters())["clusters"]]
