// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fields of a config.json that change no size and no work of training: how text is made, how
// weights were stored, what losses weigh. What is not here may matter.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/spec/hf_family.hpp"

namespace pleat {
namespace {

constexpr std::array<std::string_view, 60> kHarmless{"_name_or_path",
                                                     "add_cross_attention",
                                                     "architectures",
                                                     "attention_dropout",
                                                     "attn_pdrop",
                                                     "auto_map",
                                                     "aux_loss_alpha",
                                                     "bad_words_ids",
                                                     "bos_token_id",
                                                     "decoder_start_token_id",
                                                     "do_sample",
                                                     "dtype",
                                                     "embd_pdrop",
                                                     "embedding_dropout",
                                                     "emb_pdrop",
                                                     "eod_token_id",
                                                     "eos_token_id",
                                                     "ep_size",
                                                     "finetuning_task",
                                                     "hidden_dropout",
                                                     "id2label",
                                                     "initializer_range",
                                                     "is_decoder",
                                                     "is_encoder_decoder",
                                                     "keys_to_ignore_at_inference",
                                                     "label2id",
                                                     "max_length",
                                                     "max_position_embeddings",
                                                     "max_seq_len",
                                                     "model_max_length",
                                                     "moe_aux_loss_coeff",
                                                     "moe_z_loss_coeff",
                                                     "output_attentions",
                                                     "output_dropout",
                                                     "output_hidden_states",
                                                     "output_router_logits",
                                                     "pad_token_id",
                                                     "prefix",
                                                     "pretraining_tp",
                                                     "problem_type",
                                                     "quantization_config",
                                                     "resid_pdrop",
                                                     "return_dict",
                                                     "rope_scaling",
                                                     "rope_theta",
                                                     "router_aux_loss_coef",
                                                     "router_jitter_noise",
                                                     "sep_token_id",
                                                     "seq_aux",
                                                     "task_specific_params",
                                                     "tf_legacy_loss",
                                                     "tokenizer_class",
                                                     "torch_dtype",
                                                     "torchscript",
                                                     "transformers_version",
                                                     "unk_token_id",
                                                     "use_bfloat16",
                                                     "use_cache",
                                                     "use_sliding_window",
                                                     "z_loss_coef"};

}  // namespace

std::vector<std::string> without_harmless(std::vector<std::string> fields,
                                          const JsonValue& config) {
  const JsonValue* windows = config.find("use_sliding_window");
  const bool* used = windows == nullptr ? nullptr : windows->as_bool();
  const bool no_windows = used != nullptr && !*used;
  std::erase_if(fields, [&](const std::string& name) {
    const JsonValue* value = config.find(name);
    if (value != nullptr && value->is_null()) return true;
    if (no_windows && (name == "sliding_window" || name == "max_window_layers")) return true;
    return std::ranges::find(kHarmless, name) != kHarmless.end();
  });
  return fields;
}

}  // namespace pleat
