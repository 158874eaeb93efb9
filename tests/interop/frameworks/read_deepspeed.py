# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Reads exports for DeepSpeed with DeepSpeed's own configuration and its checks of AutoEP.

Stubs: the world's size and rank, which DeepSpeed asks torch.distributed for.
"""

import json
import logging

import deepspeed.comm as comm
from deepspeed.module_inject.auto_ep_config import validate_autoep_config
from deepspeed.module_inject.auto_ep_folding import build_folding_spec, validate_folding_global
from deepspeed.runtime.config import DeepSpeedConfig

logging.disable(logging.WARNING)


class Reader:
    name, version = "deepspeed", "0.19.8"

    def read(self, line):
        gpus = line["gpus"]
        comm.get_world_size = lambda *a, **k: gpus
        comm.get_rank = lambda *a, **k: 0
        import deepspeed.runtime.config as module
        module.dist.get_world_size = comm.get_world_size
        module.dist.get_rank = comm.get_rank
        config = DeepSpeedConfig(json.loads(line["text"]))
        assert config.world_size == gpus, "the batch was checked for another world"
        tp = max(1, config.tensor_parallel_config.autotp_size)
        out = {"dp": gpus // tp, "microbatches": config.gradient_accumulation_steps, "later": []}
        experts = config.expert_parallel_config
        if experts.enabled:
            offload = config.zero_config.offload_optimizer is not None
            validate_autoep_config(experts, gpus, 1, tp, 1, zero_offload_optimizer=offload)
            folding = build_folding_spec(
                world_size=gpus, pp_size=1, tp_size=tp, ep_size=experts.autoep_size,
                etp_size=experts.expert_tensor_parallel_size, mp_mode="tp" if tp > 1 else "sp")
            validate_folding_global(folding, zero_stage=config.zero_optimization_stage,
                                    autoep_enabled=True, zero_offload_optimizer=offload)
            out["edp"] = folding.edp_size
        return out
