# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Reads exports for Megatron-LM with megatron-core, on a CPU.

megatron-core's wheel has no arguments.py, so three things are restated here: the reading of flags
(from configs/interop/megatron-lm.json), how they become fields of TransformerConfig, and that flags
younger than the wheel have no field. The checks themselves, rank groups, microbatches, the layers
of a stage and its parameters are megatron-core's own.

Stubs: TransformerEngine is taken to be there and new (its versions are asked for); the device of a
parameter is "meta"; process groups are torch's fake ones. A model is built with the local layers,
its experts one by one, with the all-to-all dispatcher and without streams.
"""

import ast
import dataclasses
import json
import os
import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

torch.cuda.current_device = lambda: "meta"
torch.cuda.Stream = lambda *a, **k: None
torch.Tensor.cuda = lambda self, *a, **k: self

import megatron.core.transformer.transformer_config as tc  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from megatron.core.fusions.fused_bias_geglu import quick_gelu  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import (  # noqa: E402
    get_gpt_decoder_block_spec,
    get_gpt_mtp_block_spec,
)
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core import num_microbatches_calculator as calculator  # noqa: E402
from megatron.core.models.common.embeddings import rope_utils  # noqa: E402
from megatron.core.models.common.embeddings import yarn_rotary_pos_embedding as yarn  # noqa: E402
from megatron.core.models.backends import LocalSpecProvider  # noqa: E402
from megatron.core.transformer import multi_latent_attention  # noqa: E402
from megatron.core.transformer.moe import moe_utils  # noqa: E402
from megatron.core.transformer.enums import AttnBackend, CudaGraphScope  # noqa: E402
from megatron.core.transformer.transformer_block import get_num_layers_to_build  # noqa: E402

def te_kernel(*_, **__):
    raise AssertionError("a kernel of TransformerEngine was called")


for module, names in (
    (rope_utils, ("fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_thd")),
    (moe_utils, ("fused_permute", "fused_permute_with_probs", "fused_sort_chunks_by_index",
                 "fused_sort_chunks_by_index_with_probs", "fused_unpermute")),
):
    for name in names:
        setattr(module, name, te_kernel)
yarn.get_pos_emb_on_this_cp_rank = lambda embedding, *_, **__: embedding
tc.is_te_min_version = lambda *a, **k: True
tc.get_te_version = lambda: tc.PkgVersion("99")

# Flags of d98e8a64dd that no field of 0.16.1 stands for, or another one.
RENAMED = {
    "num_experts": "num_moe_experts",
    "norm_epsilon": "layernorm_epsilon",
    "num_virtual_stages_per_pipeline_rank": "virtual_pipeline_model_parallel_size",
    "microbatch_group_size_per_virtual_pipeline_stage": "microbatch_group_size_per_vp_stage",
    "fp8_format": "fp8",
    "fp4_format": "fp4",
    "fp8_param_gather": "fp8_param",
}
LISTS = ("moe_layer_freq", "linear_attention_freq", "window_attn_skip_freq", "window_size")
MODEL_ONLY = ("position_embedding_type", "rotary_percent", "rotary_base", "use_rope_scaling",
              "rope_scaling_factor", "rotary_seq_len_interpolation_factor")


def arguments(words, table):
    """Members of Megatron-LM's argparse namespace: only those that were given."""
    given = {}
    for name, *values in words:
        flag = table[name]
        dest = flag.get("dest", name[2:].replace("-", "_"))
        kind = flag["type"]
        if kind == "on" or kind == "on_or_off":
            given[dest] = True
        elif kind == "off":
            given[dest] = False
        elif kind == "list":
            given[dest] = values
        else:
            (text,) = values
            given[dest] = {"integer": int, "number": float, "text": str}[kind](text)
            if flag.get("choices") and text not in flag["choices"]:
                raise ValueError(f"{name}: {text} is none of {flag['choices']}")
    return given


def activation(given):
    if given.get("swiglu"):
        return {"activation_func": F.silu, "gated_linear_unit": True,
                "bias_activation_fusion": True}
    fused = {"bias_activation_fusion": given.get("bias_gelu_fusion", True)}
    if given.get("quick_geglu"):
        return fused | {"activation_func": quick_gelu, "gated_linear_unit": True}
    if given.get("squared_relu"):
        return fused | {"activation_func": lambda x: torch.pow(F.relu(x), 2)}
    return fused


def config_of(given):
    """core_transformer_config_from_args, restated. Beside it what 0.16.1 lacks."""
    latent = given.get("multi_latent_attention", False)
    cls = tc.MLATransformerConfig if latent else tc.TransformerConfig
    fields = {f.name for f in dataclasses.fields(cls)}
    kw = {"bias_dropout_fusion": True, "apply_rope_fusion": True, "use_cpu_initialization": False,
          "perform_initialization": False, "deallocate_pipeline_outputs": True}
    later = []
    for name, value in given.items():
        field = RENAMED.get(name, name)
        if name in LISTS:
            value = value[0] if isinstance(value, list) else value
            value = tuple(ast.literal_eval(value)) if name == "window_size" else evaluate(value)
        if name == "hierarchical_context_parallel_sizes":
            value = [int(v) for v in value]
        if name == "cp_comm_type":
            value = value[0]
        if name == "attention_backend":
            value = AttnBackend[value]
        if field in fields:
            kw[field] = value
        elif name not in KNOWN and name not in MODEL_ONLY:
            later.append(name)
    kw.update(activation(given))
    if latent:  # argparse's defaults are not the class's
        kw.setdefault("rotary_scaling_factor", 1.0)
        kw.setdefault("q_lora_rank", None)
    if not latent:
        kw.pop("rotary_base", None)
    if given.get("bf16") or given.get("fp16"):
        kw["params_dtype"] = torch.bfloat16 if given.get("bf16") else torch.float16
    kw["pipeline_dtype"] = kw.get("params_dtype", torch.float32)
    if kw.get("virtual_pipeline_model_parallel_size") == 1:
        kw["virtual_pipeline_model_parallel_size"] = None
    if given.get("cpu_offloading_num_layers"):
        kw["cpu_offloading"] = True
    modules = given.get("cuda_graph_modules")
    if given.get("cuda_graph_impl") == "full_iteration":
        kw.update(cuda_graph_impl="local", cuda_graph_scope=[CudaGraphScope.full_iteration])
    elif modules:
        kw["cuda_graph_scope"] = [CudaGraphScope[m] for m in modules]
    if "moe_flex_dispatcher_num_sms" in given:
        backend = given["moe_flex_dispatcher_backend"]
        kw[f"moe_{backend}_num_sms"] = given["moe_flex_dispatcher_num_sms"]
    kw.setdefault("num_query_groups", None)
    config = cls(**kw)
    for name in ("rotary_scaling_factor", "yarn_original_max_position_embeddings", "yarn_beta_fast",
                 "yarn_beta_slow", "mscale", "mscale_all_dim",
                 "yarn_correction_range_round_to_int"):
        if given.get("position_embedding_type") == "yarn":
            setattr(config, name if name.startswith("yarn_") else "yarn_" + name, given.get(name))
    return config, later


def evaluate(text):
    """Megatron evaluates a pattern as Python."""
    if isinstance(text, str):
        return eval(text, {"__builtins__": {}})  # noqa: S307, of our own export
    return text


# Checks of 0.16.1 that d98e8a64dd, which exports are for, has no more.
OLDER = {
    "Pipeline model parallel size must be larger than 1 when enabling overlap":
        "overlap with a prediction layer without a pipeline",
    "CUDA graph scope on moe and mlp is not supported with overlap":
        "overlap in a graph of the whole iteration",
    "moe_shared_expert_overlap only works with alltoall token dispatcher":
        "overlap of the shared expert with the flex dispatcher",
    "Currently context parallelism is not supported by DSAttention":
        "context parallelism of sparse attention",
    "Gated delta net does not support context parallel":
        "context parallelism of gated delta networks",
}

# Said to the trainer, the optimizer or the data, not to TransformerConfig.
KNOWN = {
    "bf16", "fp16", "swiglu", "quick_geglu", "squared_relu", "vocab_size", "seq_length",
    "max_position_embeddings", "micro_batch_size", "global_batch_size", "multi_latent_attention",
    "untie_embeddings_and_output_weights", "group_query_attention", "bias_gelu_fusion",
    "use_distributed_optimizer", "use_megatron_fsdp", "data_parallel_sharding_strategy",
    "ckpt_format", "num_distributed_optimizer_instances", "outer_dp_sharding_strategy",
    "overlap_grad_reduce", "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step", "use_precision_aware_optimizer",
    "accumulate_allreduce_grads_in_fp32", "main_grads_dtype", "main_params_dtype",
    "exp_avg_dtype", "exp_avg_sq_dtype", "grad_reduce_in_bf16", "megatron_fsdp_main_grads_dtype",
    "megatron_fsdp_grad_comm_dtype", "optimizer", "optimizer_cpu_offload",
    "optimizer_offload_fraction", "overlap_cpu_optimizer_d2h_h2d", "te_rng_tracker",
    "check_for_nan_in_loss_and_grad", "reuse_grad_buf_for_mxfp8_param_ag", "cuda_graph_modules",
    "moe_flex_dispatcher_num_sms", "yarn_original_max_position_embeddings", "yarn_beta_fast",
    "yarn_beta_slow", "yarn_correction_range_round_to_int", "mscale", "mscale_all_dim",
    "rotary_scaling_factor", "rope_type", "ddp_bucket_size",
}


class CoreAttention(torch.nn.Module):
    """In place of the local one, which latent attention does not fit: the parameters alone."""

    def __init__(self, config, *_, **__):
        super().__init__()
        if config.softmax_type == "learnable":
            heads = config.num_attention_heads // config.tensor_model_parallel_size
            self.softmax_offset = torch.nn.Parameter(torch.empty(heads))


multi_latent_attention.HAVE_TE = False
LocalSpecProvider.core_attention = lambda self: CoreAttention


class Groups:
    """Rank groups as megatron-core makes them, once for each mesh."""

    def __init__(self):
        self.key = None

    def make(self, given, gpus, rank, chunks=None):
        key = (gpus, rank, given["tensor_model_parallel_size"], given["context_parallel_size"],
               given["pipeline_model_parallel_size"], given.get("expert_model_parallel_size", 1),
               given.get("expert_tensor_parallel_size"),
               given.get("num_distributed_optimizer_instances", 1),
               tuple(given.get("hierarchical_context_parallel_sizes", ())), chunks)
        if key == self.key:
            return
        if self.key is not None:
            parallel_state.destroy_model_parallel()
            dist.destroy_process_group()
        self.key = key
        dist.init_process_group("fake", rank=rank, world_size=gpus, store=FakeStore())
        sizes = given.get("hierarchical_context_parallel_sizes")
        parallel_state.initialize_model_parallel(
            virtual_pipeline_model_parallel_size=chunks,
            tensor_model_parallel_size=key[2], context_parallel_size=key[3],
            pipeline_model_parallel_size=key[4], expert_model_parallel_size=key[5],
            expert_tensor_parallel_size=key[6], num_distributed_optimizer_instances=key[7],
            hierarchical_context_parallel_sizes=[int(s) for s in sizes] if sizes else None,
            create_gloo_process_groups=False)


GROUPS = Groups()


def layers_of(config, rank):
    chunks = config.virtual_pipeline_model_parallel_size or 1
    layout = config.pipeline_model_parallel_layout
    if layout is not None:
        from megatron.core.transformer.enums import LayerType
        return [layout.layout[rank][v].count(LayerType.decoder) for v in range(chunks)]
    return [get_num_layers_to_build(config, vp_stage=v if chunks > 1 else None, pp_rank=rank)
            for v in range(chunks)]


def parameters_of(config, given, rank, gpus):
    """Of one rank of this pipeline stage, from modules on the meta device.

    None where it says nothing: attention of other kinds has TransformerEngine's layers alone; where
    TP exceeds the groups of keys, 0.16.1 splits a head's weights, which the plan has whole.
    """
    groups = config.num_query_groups
    if config.experimental_attention_variant is not None or (
            groups and groups < config.tensor_model_parallel_size):
        return None
    pp = config.pipeline_model_parallel_size
    chunks = config.virtual_pipeline_model_parallel_size
    GROUPS.make(given, gpus, rank * (gpus // pp), chunks)
    total = 0
    for v in range(chunks or 1):
        stage = v if chunks else None
        spec = get_gpt_decoder_block_spec(config, use_transformer_engine=False,
                                          normalization=config.normalization, vp_stage=stage)
        mtp = None
        if config.mtp_num_layers:
            mtp = get_gpt_mtp_block_spec(config, spec if spec.layer_specs else last_spec(config),
                                         use_transformer_engine=False, vp_stage=stage)
        with torch.device("meta"):
            model = GPTModel(
                config, spec, vocab_size=padded(given, config), mtp_block_spec=mtp,
                max_sequence_length=given["max_position_embeddings"],
                pre_process=rank == 0 and v == 0,
                post_process=rank == pp - 1 and v == (chunks or 1) - 1,
                share_embeddings_and_output_weights=not given.get(
                    "untie_embeddings_and_output_weights", False),
                position_embedding_type=given["position_embedding_type"],
                rotary_percent=given.get("rotary_percent", 1.0), vp_stage=stage)
        for name, parameter in model.named_parameters():
            # TransformerEngine's layers keep the projections to latents whole on each rank of TP.
            whole = "linear_q_down_proj" in name or "linear_kv_down_proj" in name
            total += parameter.numel() * (config.tensor_model_parallel_size if whole else 1)
    return total


def last_spec(config):
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_layer_specs
    return get_gpt_decoder_layer_specs(config, False, config.normalization)[-1]


def padded(given, config):
    """Without Megatron-LM's further padding to 128 rows a rank, which the plan leaves out."""
    multiple = config.tensor_model_parallel_size
    return -(-given["vocab_size"] // multiple) * multiple


class Older(Exception):
    """The wheel refuses what the stated version runs."""


class Reader:
    name, version = "megatron-core", "0.16.1"

    def __init__(self, flags_file, build):
        with open(flags_file) as file:
            self.table = json.load(file)["flags"]
        self.build = build

    def read(self, line):
        """What megatron-core derives; raises what it raises."""
        given = arguments(line["exported"]["settings"], self.table)
        gpus = line["gpus"]
        try:
            config, later = config_of(given)
        except (AssertionError, ValueError) as error:
            for text, what in OLDER.items():
                if str(error).startswith(text):
                    raise Older(what) from error
            raise
        GROUPS.make(given, gpus, 0)
        dp = parallel_state.get_data_parallel_world_size()
        calculator.unset_num_microbatches_calculator()
        calculator.init_num_microbatches_calculator(
            1, None, given["global_batch_size"], given["micro_batch_size"], dp)
        pp = config.pipeline_model_parallel_size
        out = {"dp": dp, "microbatches": calculator.get_num_microbatches(),
               "layers": [layers_of(config, r) for r in range(pp)], "later": later}
        if line["plan"]["moe"]:
            out["edp"] = parallel_state.get_expert_data_parallel_world_size()
        # Norms over all heads, which the export says Megatron has not, are parameters of ours alone.
        if self.build and "model.attention.wide_qk_norm" not in line["exported"]["missing"]:
            out["parameters"] = self.parameters(config, given, gpus, pp)
        return out

    def parameters(self, config, given, gpus, pp):
        config.moe_grouped_gemm = config.moe_permute_fusion = False
        config.moe_token_dispatcher_type = "alltoall"
        config.moe_shared_expert_overlap = False
        config.overlap_moe_expert_parallel_comm = False
        config.sequence_parallel = config.fine_grained_activation_offloading = False
        config.cuda_graph_impl, config.fp8, config.fp4 = "none", None, None
        config.persist_layer_norm = config.cpu_offloading = False
        for name in [name for name in os.environ if name.startswith("NVTE_")]:
            del os.environ[name]  # of the last model
        ranks = sorted({0, pp - 1})
        return {r: parameters_of(config, given, r, gpus) for r in ranks}
