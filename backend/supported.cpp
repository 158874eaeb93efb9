// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/supported.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/plan/executed_formats.hpp"

namespace pleat {
namespace {

void require(Diagnostics& d, bool holds, const std::string& path, const std::string& message,
             const std::string& hint) {
  if (!holds) d.error(ExitCode::bad_request, "", path, message, hint);
}

void check_plan(Diagnostics& d, const ModelSpec& m, const Plan& p, bool captures_graphs) {
  for (const FormatRefusal& f : refused_formats(m, p)) {
    d.error(ExitCode::bad_request, "", f.path, f.message, f.hint);
  }
  require(d, captures_graphs || p.cuda_graph == CudaGraph::none, "cuda_graph",
          fmt::format("this backend captures no CUDA graphs (got {})", name_of(p.cuda_graph)),
          "use --cuda-graph none");
  require(d, p.flash_attention, "flash_attention", "this backend never stores the score matrix",
          "set flash_attention to true");
}

void check_model(Diagnostics& d, const ModelSpec& m) {
  const auto feature = [&](bool used, const std::string& path, const std::string& what) {
    require(d, !used, path, fmt::format("this backend has no {} so far (model {})", what, m.name),
            "use a model without it, such as tiny-moe");
  };
  feature(m.norm == NormKind::layer_norm &&
              (m.attention.qk_norm || m.attention.kind != AttentionKind::gqa),
          "norm", "layer norm of heads or latents");
  feature(m.attention.wide_qk_norm, "attention.wide_qk_norm",
          "norm of all heads' queries together");
  feature(m.attention.rope_scaling.rule == RopeRule::unknown, "attention.rope_scaling",
          "rotary positions scaled by this rule");
  const auto only_priced = [](const LayerTraits& t) {
    return t.mixer != Mixer::attention || t.sparse || t.compression > 0;
  };
  feature(std::ranges::any_of(m.layer_traits, only_priced) || only_priced(m.mtp_traits),
          "layer_kinds", "sparse or compressed attention or recurrences");
  feature(m.attention.kind == AttentionKind::compressed, "attention.kind", "compressed attention");
  const auto shared = [](const AttentionSpec& a) { return a.keys_are_values; };
  feature(shared(m.attention) || (m.local_attention && shared(*m.local_attention)), "attention",
          "shared keys and values");
  feature(m.attention.sinks && m.attention.kind != AttentionKind::gqa, "attention",
          "sinks of latent attention");
  feature(m.residual_streams != 1, "residual_streams", "residual streams");
}

// Without sequence parallelism every tensor-parallel rank has all tokens.
void check_whole_tokens(Diagnostics& d, const ModelSpec& m, const Plan& p) {
  if (p.attention.tp == 1 || p.sequence_parallel) return;
  const std::string hint = "set sequence_parallel to true";
  require(d, !m.moe, "sequence_parallel",
          "with TP this backend gives each rank its share of the tokens to send to the experts",
          hint);
  require(
      d, m.attention.kind != AttentionKind::mla || m.attention.q_lora_rank > 0, "sequence_parallel",
      "with TP this backend projects latent attention's queries from a share of the tokens", hint);
}

}  // namespace

void require_supported(const Program& program, bool captures_graphs) {
  Diagnostics d;
  check_plan(d, program.model, program.plan, captures_graphs);
  check_model(d, program.model);
  check_whole_tokens(d, program.model, program.plan);
  d.throw_if_errors();
}

}  // namespace pleat
