# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Reads exports for torchtitan with torchtitan's own parser and mesh, on a CPU.

Stubs: none; a configuration is parsed and its model described, nothing is built on a device. How
many steps make a global batch is in the trainer's constructor, which wants GPUs: restated.
"""

import contextlib
import io
import logging

from torchtitan.config.manager import ConfigManager
from torchtitan.distributed.parallel_dims import ParallelDims
from torchtitan.distributed import pipeline_parallel

logging.disable(logging.WARNING)


def layers_of(config, dims):
    parallelism = config.parallelism
    stages, layers, first, last = pipeline_parallel._get_pipeline_metadata(
        dims, parallelism, config.model_spec.model)
    parts = pipeline_parallel._generate_llm_fqn_per_model_part(stages, layers, first, last)
    counts = [sum(name.startswith("layers.") for name in part) for part in parts]
    pp = dims.pp
    return [counts[rank::pp] for rank in range(pp)]


class Reader:
    name, version = "torchtitan", "0.3.0"

    def read(self, line):
        words = [word for setting in line["exported"]["settings"] for word in setting]
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                config = ConfigManager().parse_args(words)
        except SystemExit as error:
            raise ValueError(said.getvalue()) from error
        dims = ParallelDims.from_config(config.parallelism, line["gpus"])
        dp = dims.dp_replicate * dims.dp_shard
        training, parallelism = config.training, config.parallelism
        local = training.local_batch_size
        assert training.global_batch_size % (local * dp) == 0, "trainer.py: whole steps"
        sparse = dims.dp_shard * dims.cp * dims.tp
        assert sparse % dims.ep == 0, "parallel_dims.py: dp_shard x cp x tp over ep"
        micro = parallelism.pipeline_parallel_microbatch_size if dims.pp > 1 else local
        steps = training.global_batch_size // (local * dp)
        out = {"dp": dp, "microbatches": steps * (local // micro), "later": []}
        if dims.pp > 1 and "plan.layout" not in line["exported"]["missing"]:
            out["layers"] = layers_of(config, dims)
        elif dims.pp == 1:
            out["layers"] = [[len(config.model_spec.model.layers)]]
        return out
