# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Reads overrides for Megatron-Bridge with Hydra's grammar, as Megatron-Bridge does.

Megatron-Bridge itself wants TransformerEngine and a Hugging Face model for each recipe, so its
configuration is not made; a container with the members of its recipes stands in for it.
"""

import re

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf


def skeleton(overrides):
    """Every member that is overridden, without a value; what ++ adds is left out."""
    out = {}
    for override in overrides:
        if override.is_force_add():
            continue
        *path, last = override.key_or_group.split(".")
        at = out
        for name in path:
            at = at.setdefault(name, {})
        at[last] = None
    return out


class Reader:
    name, version = "Megatron-Bridge's overrides (hydra-core)", "1.3"

    def read(self, line):
        words = ["=".join((name, value)) for name, value in line["exported"]["settings"]]
        overrides = OverridesParser.create().parse_overrides(words)
        config = OmegaConf.create(skeleton(overrides))
        OmegaConf.set_struct(config, True)
        ConfigLoaderImpl._apply_overrides_to_config(overrides=overrides, cfg=config)
        model = config.model.get("transformer", config.model)
        degrees = (model.tensor_model_parallel_size * model.context_parallel_size
                   * model.pipeline_model_parallel_size)
        dp = line["gpus"] // degrees
        batch = config.train.global_batch_size
        layout = model.pipeline_model_parallel_layout
        ours = line["plan"]["layout"] if line["plan"]["pp"] > 1 else ""
        assert re.sub("m+", "m", layout or "") == ours, layout  # an m for each prediction layer
        assert config.dataset.seq_length == config.model.seq_length
        assert (model.virtual_pipeline_model_parallel_size or 1) == line["plan"]["vpp"]
        return {"dp": dp, "microbatches": batch // (config.train.micro_batch_size * dp),
                "later": []}
