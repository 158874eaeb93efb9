# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""How a model is trained: the fields of a plan, and plan files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Union

from . import _core, _html
from .specs import PathLike

Words = Union[str, Iterable[str]]


@dataclass(frozen=True)
class Plan:
    """A plan as the options of ``pleat predict`` give it; what is absent is the runtime's default.

    Data parallel sizes follow from the number of GPUs.

    Attributes
    ----------
    tp, cp, pp, vpp : int
        Tensor, context and pipeline parallel size of attention and dense layers; virtual stages on
        each pipeline rank.
    ep, etp : int
        Expert parallel size; tensor parallel size inside an expert.
    expert_placement : str
        "in_order" or "by_load", by the loads of the job's routing file.
    redundant_experts : int
        With "by_load": copies of busy experts on each expert-parallel rank.
    micro_batch : int
        Sequences of a microbatch.
    schedule : str
        "1f1b", "zb-h1", "zb-v", "dualpipe" or "dualpipe-v".
    layout : str
        Layers of each virtual stage, "Et*4|(t*4|)*14tmL".
    precision : str
        "bf16", "fp8", "fp8_block", "mxfp8", "nvfp4", …
    recompute, offload : str or list of str
        Modules, "none", or (recompute) "full" and "full:2".
    recompute_stages, offload_stages : str
        What single stages do instead, "0=full/1-2=moe_act".
    recompute_unit, offload_layers : int
        Layers that keep one input together; layers whose activations are in host memory.
    sharding : str
        "none", "zero1", "zero2" or "zero3".
    fsdp_group, optimizer_instances : int
        Ranks of one shard group; copies of the optimizer's state that zero1 shards.
    dispatcher : str
        "allgather", "alltoall", "deepep", "hybridep", …
    dispatcher_sms, microbatch_group : int
        SMs of a fused exchange; microbatches of a group of the interleaved order.
    cp_comm : str
        "p2p", "all_gather", "a2a" or "a2a+p2p".
    cp_a2a : int
        With "a2a+p2p": ranks of a group that exchanges heads.
    cuda_graph : str
        "none", "attention", "router", "partial" or "full_iteration".
    main_grads_dtype, main_params_dtype, exp_avg_dtype, exp_avg_sq_dtype, grad_reduce_dtype : str
        Number formats of gradients and of the optimizer's state.
    optimizer : str
        "adamw", "lamb", "sgd" or "muon".
    state_offload, cpu_optimizer : float
        Shares in [0, 1] of the optimizer's state that are in host memory between steps; that stay
        there, the CPU making the step.
    paged_stash, stash_capacity : float
        Paged stash of what experts save, over the balanced mean; rows a rank computes with.
    ep_overlap, delay_wgrad, tp_overlap, shared_expert_overlap, tile_overlap : bool
        What runs beside what.
    fp8_dispatch, fp8_combine, fp8_attention, fp8_head : bool
        What else is in fp8.
    no_grad_overlap, no_param_overlap, no_sequence_parallel : bool
        What is usual and left out.
    gather_beside_step : bool
        The first chunk's weights are gathered beside the optimizer's step of the others.
    no_fp8_params, no_flash_attention : bool
        Likewise.
    no_permute_fusion, no_router_fusion, no_scale_init_fusion, no_scale_order_fusion : bool
        What a chain of kernels does instead of one.
    loss_chunks : int
        Parts of a microbatch whose logits are there one at a time.
    ddp_bucket_size : int
        Gradients of a bucket, in elements.
    overlap_cpu_optimizer : bool
        Transfers beside the CPU's step.
    """

    tp: int | None = None
    cp: int | None = None
    pp: int | None = None
    vpp: int | None = None
    ep: int | None = None
    etp: int | None = None
    expert_placement: str | None = None
    redundant_experts: int | None = None
    micro_batch: int | None = None
    schedule: str | None = None
    layout: str | None = None
    precision: str | None = None
    recompute: Words | None = None
    recompute_unit: int | None = None
    offload: Words | None = None
    recompute_stages: str | None = None
    offload_stages: str | None = None
    offload_layers: int | None = None
    sharding: str | None = None
    fsdp_group: int | None = None
    optimizer_instances: int | None = None
    loss_chunks: int | None = None
    ddp_bucket_size: int | None = None
    dispatcher: str | None = None
    dispatcher_sms: int | None = None
    microbatch_group: int | None = None
    cp_comm: str | None = None
    cp_a2a: int | None = None
    cuda_graph: str | None = None
    main_grads_dtype: str | None = None
    main_params_dtype: str | None = None
    exp_avg_dtype: str | None = None
    exp_avg_sq_dtype: str | None = None
    grad_reduce_dtype: str | None = None
    optimizer: str | None = None
    state_offload: float | None = None
    cpu_optimizer: float | None = None
    paged_stash: float | None = None
    stash_capacity: float | None = None
    ep_overlap: bool = False
    delay_wgrad: bool = False
    tp_overlap: bool = False
    shared_expert_overlap: bool = False
    tile_overlap: bool = False
    fp8_dispatch: bool = False
    fp8_combine: bool = False
    no_grad_overlap: bool = False
    no_param_overlap: bool = False
    gather_beside_step: bool = False
    no_sequence_parallel: bool = False
    no_fp8_params: bool = False
    no_flash_attention: bool = False
    no_permute_fusion: bool = False
    no_router_fusion: bool = False
    no_scale_init_fusion: bool = False
    no_scale_order_fusion: bool = False
    overlap_cpu_optimizer: bool = False
    fp8_attention: bool = False
    fp8_head: bool = False

    def __post_init__(self) -> None:
        for name in ("recompute", "offload"):
            words = getattr(self, name)
            if words is not None and not isinstance(words, str):
                object.__setattr__(self, name, ",".join(words))

    def arguments(self) -> dict[str, Any]:
        """Give what says something, by name."""
        return {k: v for k, v in self.__dict__.items() if v is not None and v is not False}

    def __repr__(self) -> str:
        said = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if getattr(self, f.name) not in (None, False)
        ]
        return f"Plan({', '.join(said)})"


@dataclass(frozen=True)
class PlanFile:
    """A plan file: a plan with all that is needed to price or run it, the model included.

    Attributes
    ----------
    text : str
        The file, as ``pleat plan --out`` writes it.
    name : str
        What messages call it.
    """

    text: str
    name: str = "plan.json"

    @classmethod
    def load(cls, path: PathLike) -> PlanFile:
        """Read a plan file; `FileError` tells all that is wrong with it."""
        name = os.fspath(path)
        return cls(text=_core.plan_file(name), name=name)

    @property
    def document(self) -> dict[str, Any]:
        """The file as a dictionary (docs/FORMATS.md)."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    def save(self, path: PathLike, *, force: bool = False) -> None:
        """Write the file; one that is there is replaced only with `force`."""
        target = Path(path)
        if not force and target.exists():
            raise FileExistsError(f"{target} is there already; force=True replaces it")
        part = target.with_name(f".{target.name}.part-{os.getpid()}")
        try:
            part.write_text(self.text, encoding="utf-8")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"PlanFile({self.name!r})"

    def _repr_html_(self) -> str:
        d = self.document
        return _html.facts(
            f"{d['model_name'] if 'model_name' in d else self.name}",
            [(k, v) for k, v in d.items() if isinstance(v, (str, int, float))],
        )


PlanLike = Union[Plan, PlanFile, PathLike]


def plan_arguments(plan: PlanLike | None) -> dict[str, Any]:
    """Put together what the options of a plan would be given."""
    if plan is None:
        return {}
    if isinstance(plan, Plan):
        return plan.arguments()
    if isinstance(plan, PlanFile):
        return {"plan": plan.name, "plan_text": plan.text}
    return {"plan": os.fspath(plan)}


def plan_file_of(plan: PlanFile | PathLike) -> PlanFile:
    """Give a plan file, read where it is a path."""
    return plan if isinstance(plan, PlanFile) else PlanFile.load(plan)


def one_mapping(plan: Plan | Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the arguments of a plan that may be a dictionary already."""
    return plan.arguments() if isinstance(plan, Plan) else dict(plan)
