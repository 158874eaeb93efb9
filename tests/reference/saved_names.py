# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Writes saved_names/<case>.json: small configs of every family whose weights Pleat reads and writes,
and the names and shapes of the tensors that transformers saves for them. Needs torch and transformers:
  python3 tests/reference/saved_names.py tests/reference/saved_names"""

import json
import pathlib
import sys
import tempfile

import transformers
from safetensors import safe_open

BASE = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-6, rope_theta=10000.0)
MLA = dict(BASE, num_key_value_heads=4, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
           v_head_dim=8, n_routed_experts=12, num_experts_per_tok=2, moe_intermediate_size=16, n_shared_experts=1,
           first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=True)
EXPERTS = dict(num_experts=12, num_experts_per_tok=2, moe_intermediate_size=16, decoder_sparse_step=1,
               mlp_only_layers=[])
GROUPED = dict(BASE, head_dim=8, n_routed_experts=12, num_experts_per_tok=2, moe_intermediate_size=16,
               first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=True)
CASES = {
    "llama": dict(BASE, model_type="llama", head_dim=8),
    "llama-biases": dict(BASE, model_type="llama", head_dim=8, attention_bias=True, mlp_bias=True),
    "mistral": dict(BASE, model_type="mistral", head_dim=8, sliding_window=None),
    "mixtral": dict(BASE, model_type="mixtral", num_local_experts=12, num_experts_per_tok=2, sliding_window=None),
    "qwen2": dict(BASE, model_type="qwen2", use_sliding_window=False),
    "qwen3": dict(BASE, model_type="qwen3", head_dim=12, attention_bias=False, use_sliding_window=False),
    "qwen2_moe": dict(BASE, model_type="qwen2_moe", shared_expert_intermediate_size=24, norm_topk_prob=False,
                      qkv_bias=True, use_sliding_window=False, **EXPERTS),
    "qwen2_moe-dense-first": dict(BASE, model_type="qwen2_moe", shared_expert_intermediate_size=24, qkv_bias=True,
                                  norm_topk_prob=False, use_sliding_window=False, **dict(EXPERTS, mlp_only_layers=[0])),
    "qwen3_moe": dict(BASE, model_type="qwen3_moe", head_dim=12, norm_topk_prob=True, attention_bias=False,
                      use_sliding_window=False, **EXPERTS),
    "deepseek_v2": dict(MLA, model_type="deepseek_v2", topk_method="greedy", scoring_func="softmax"),
    "deepseek_v2-lite": dict(MLA, model_type="deepseek_v2", topk_method="greedy", scoring_func="softmax",
                             q_lora_rank=None, n_shared_experts=2),
    "deepseek_v3": dict(MLA, model_type="deepseek_v3", topk_method="noaux_tc", scoring_func="sigmoid"),
    "glm4_moe": dict(GROUPED, model_type="glm4_moe", n_shared_experts=1, attention_bias=True, use_qk_norm=True,
                     partial_rotary_factor=0.5),
    "glm4_moe-plain": dict(GROUPED, model_type="glm4_moe", n_shared_experts=1, attention_bias=False, use_qk_norm=False),
    "dots1": dict(GROUPED, model_type="dots1", n_shared_experts=2, attention_bias=False, sliding_window=None),
    "ernie4_5_moe": dict(BASE, model_type="ernie4_5_moe", head_dim=8, use_bias=False, moe_num_experts=12, moe_k=2,
                         moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_interval=1, moe_layer_end_index=-1,
                         moe_intermediate_size=16),
}


def saved(config):
    """Names and shapes of what save_pretrained writes."""
    words = dict(config)
    model_type = words.pop("model_type")
    made = transformers.AutoConfig.for_model(model_type, **words)
    model = transformers.AutoModelForCausalLM.from_config(made)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = {}
        for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
            with safe_open(path, "pt") as f:
                tensors.update({name: list(f.get_slice(name).get_shape()) for name in f.keys()})
    return dict(sorted(tensors.items()))


def main(folder):
    for name, config in CASES.items():
        for tied in (False, True):
            whole = dict(config, tie_word_embeddings=tied)
            document = {"transformers": transformers.__version__, "config": whole, "tensors": saved(whole)}
            path = pathlib.Path(folder) / f"{name}{'-tied' if tied else ''}.json"
            with open(path, "w", encoding="utf-8") as out:
                out.write('{"transformers": %s,\n"config": %s,\n"tensors": {\n' % (
                    json.dumps(document["transformers"]), json.dumps(whole)))
                out.write(",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in document["tensors"].items()))
                out.write("\n}}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
