# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Attention(Enum):
    flash = 1


def silu(x):
    return x


@dataclass
class Model:
    num_layers: int = 48
    hidden_size: int = 2048
    ffn_hidden_size: int = 6144
    num_attention_heads: int = 32
    num_query_groups: int = 4
    kv_channels: int = 128
    vocab_size: int = 151936
    seq_length: int = 4096
    num_moe_experts: int = 128
    moe_router_topk: int = 8
    moe_ffn_hidden_size: int = 768
    moe_token_dispatcher_type: str = "alltoall"
    moe_layer_freq: Any = 1
    gated_linear_unit: bool = True
    activation_func: Any = silu
    normalization: str = "RMSNorm"
    add_bias_linear: bool = False
    qk_layernorm: bool = True
    position_embedding_type: str = "rope"
    share_embeddings_and_output_weights: bool = False
    tensor_model_parallel_size: int = 1
    pipeline_model_parallel_size: int = 1
    expert_model_parallel_size: int = 1
    expert_tensor_parallel_size: int = 1
    sequence_parallel: bool = False
    pipeline_model_parallel_layout: Any = None
    virtual_pipeline_model_parallel_size: Any = None
    recompute_granularity: Any = None
    recompute_modules: Any = None
    attention_backend: Attention = Attention.flash
    layernorm_epsilon: float = 1e-6


@dataclass
class Train:
    micro_batch_size: int = 1
    global_batch_size: int = 256


@dataclass
class Ddp:
    use_distributed_optimizer: bool = True
    overlap_grad_reduce: bool = True
    grad_reduce_in_fp32: bool = True


@dataclass
class Optimizer:
    optimizer: str = "adam"
    exp_avg_dtype: Any = None


@dataclass
class ConfigContainer:
    model: Model = field(default_factory=Model)
    train: Train = field(default_factory=Train)
    ddp: Ddp = field(default_factory=Ddp)
    optimizer: Optimizer = field(default_factory=Optimizer)
    mixed_precision: Any = "bf16_mixed"
