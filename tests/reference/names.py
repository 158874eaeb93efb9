# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Pleat's names of the parameters of a Hugging Face model: each a list of tensors whose rows follow
each other. Experts are views into the fused tensors of transformers 5."""


class View:
    """Rows of a fused parameter; its gradient is that part of the parameter's."""

    def __init__(self, parameter, index):
        self.parameter, self.index = parameter, index
        self.shape = parameter[index].shape

    def copy_(self, values):
        self.parameter[self.index].copy_(values)

    @property
    def grad(self):
        return None if self.parameter.grad is None else self.parameter.grad[self.index]


def attention(a):
    if hasattr(a, "kv_b_proj"):
        q = {"q": "q_proj"} if getattr(a, "q_a_proj", None) is None else {
            "q_a": "q_a_proj", "q_a_norm": "q_a_layernorm", "q_b": "q_b_proj"}
        parts = {**q, "kv_a": "kv_a_proj_with_mqa", "kv_a_norm": "kv_a_layernorm",
                 "kv_b": "kv_b_proj", "attn_proj": "o_proj"}
        return {ours: [getattr(a, theirs).weight] for ours, theirs in parts.items()}
    out = {"qkv": [a.q_proj.weight, a.k_proj.weight, a.v_proj.weight], "attn_proj": [a.o_proj.weight]}
    if a.q_proj.bias is not None:
        out["qkv.bias"] = [a.q_proj.bias, a.k_proj.bias, a.v_proj.bias]
    if a.o_proj.bias is not None:
        out["attn_proj.bias"] = [a.o_proj.bias]
    if hasattr(a, "q_norm"):
        out.update({"q_norm": [a.q_norm.weight], "k_norm": [a.k_norm.weight]})
    return out


def gated(m, prefix=""):
    out = {prefix + "fc1": [m.gate_proj.weight, m.up_proj.weight], prefix + "fc2": [m.down_proj.weight]}
    if m.gate_proj.bias is not None:
        out[prefix + "fc1.bias"] = [m.gate_proj.bias, m.up_proj.bias]
        out[prefix + "fc2.bias"] = [m.down_proj.bias]
    return out


def mlp(m):
    if not hasattr(m, "experts"):
        return gated(m)
    out = {"router": [m.gate.weight]}
    if hasattr(m.gate, "e_score_correction_bias"):
        out["expert_bias"] = [m.gate.e_score_correction_bias]
    if hasattr(m.gate, "moe_statics"):
        out["expert_bias"] = [View(m.gate.moe_statics.e_score_correction_bias, 0)]
    for e in range(m.experts.gate_up_proj.shape[0]):
        out[f"experts.{e}.fc1"] = [View(m.experts.gate_up_proj, e)]
        out[f"experts.{e}.fc2"] = [View(m.experts.down_proj, e)]
    if getattr(m, "shared_experts", None) is not None:
        out.update(gated(m.shared_experts, "shared."))
    if hasattr(m, "shared_expert"):
        out.update(gated(m.shared_expert, "shared."))
        out["shared.gate"] = [m.shared_expert_gate.weight]
    return out


class Turned:
    """A parameter that is stored the other way round."""

    def __init__(self, parameter):
        self.parameter = parameter
        self.shape = parameter.T.shape

    def copy_(self, values):
        self.parameter.copy_(values.T)

    @property
    def grad(self):
        return None if self.parameter.grad is None else self.parameter.grad.T


def gpt2(model):
    t = model.transformer
    norm = lambda n: [n.weight, n.bias]
    out = {"embedding": [t.wte.weight], "positions": [t.wpe.weight], "final_norm": norm(t.ln_f)}
    for i, b in enumerate(t.h):
        linear = {"qkv": b.attn.c_attn, "attn_proj": b.attn.c_proj, "fc1": b.mlp.c_fc, "fc2": b.mlp.c_proj}
        for name, module in linear.items():
            out[f"layers.{i}.{name}"] = [Turned(module.weight)]
            out[f"layers.{i}.{name}.bias"] = [module.bias]
        out[f"layers.{i}.attn_norm"] = norm(b.ln_1)
        out[f"layers.{i}.mlp_norm"] = norm(b.ln_2)
    return out


def layer(block):
    return {"attn_norm": [block.input_layernorm.weight], **attention(block.self_attn),
            "mlp_norm": [block.post_attention_layernorm.weight], **mlp(block.mlp)}


class Names(dict):
    def __init__(self, model, depth):
        super().__init__()
        if model.config.model_type == "gpt2":
            self.update(gpt2(model))
            return
        self["embedding"] = [model.model.embed_tokens.weight]
        for i, block in enumerate(model.model.layers):
            self.update({f"layers.{i}.{k}": v for k, v in layer(block).items()})
        self["final_norm"] = [model.model.norm.weight]
        if not model.config.tie_word_embeddings:
            self["head"] = [model.lm_head.weight]
        if depth is not None:
            self.update({f"mtp.{k}": v for k, v in layer(depth.layer).items()})
            self.update({"mtp.h_norm": [depth.h_norm.weight], "mtp.e_norm": [depth.e_norm.weight],
                         "mtp.proj": [depth.proj.weight], "mtp.final_norm": [depth.final_norm.weight]})
