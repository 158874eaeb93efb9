// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How positions enter attention, in Megatron-LM's flags and back. Latent attention reads YaRN's
// numbers from --rotary-scaling-factor, --mscale and --mscale-all-dim; the other ones have no flag
// there (core/transformer/transformer_config.py, MLATransformerConfig). Other attention reads them
// from the --yarn flags and the same three (gpt_builders.py).
#include <fmt/format.h>

#include <cmath>

#include "interop/megatron_export.hpp"
#include "interop/megatron_import.hpp"

namespace pleat::interop {
namespace {

// MLATransformerConfig's, without a flag.
constexpr double kPositions = 4096, kBetaFast = 32, kBetaSlow = 1;
// RotaryEmbedding's for Llama 3.1, without a flag (rotary_pos_embedding.py).
constexpr double kLlamaPositions = 8192, kLlamaLow = 1, kLlamaHigh = 4;

// The m for which yarn_magnitude gives that magnitude, free of the noise of computing it.
double yarn_m(double factor, double magnitude) {
  if (factor <= 1) return 0;
  return std::round((magnitude - 1) / (0.1 * std::log(factor)) * 1e9) / 1e9;
}

void write_yarn_scale(const RopeScaling& s, Exported& e) {
  const double all = yarn_m(s.factor, std::sqrt(s.scores));
  add(e, "--rotary-scaling-factor", s.factor);
  add(e, "--mscale", yarn_m(s.factor, s.magnitude * yarn_magnitude(s.factor, all)));
  add(e, "--mscale-all-dim", all);
}

void miss_scaling(Exported& e, const char* field, double value, const std::string& text) {
  miss(e, std::string("model.attention.rope_scaling.") + field, fmt::format("{}", value), text);
}

void write_latent_yarn(const RopeScaling& s, Exported& e) {
  add(e, "--rope-type", {"yarn"});
  write_yarn_scale(s, e);
  const auto fixed = [&](const char* field, double value, double there) {
    if (value != there)
      miss_scaling(e, field, value, fmt::format("no flag; latent attention has {}", there));
  };
  fixed("original_positions", s.original_positions, kPositions);
  fixed("beta_fast", s.beta_fast, kBetaFast);
  fixed("beta_slow", s.beta_slow, kBetaSlow);
  if (!s.truncate) miss_scaling(e, "truncate", 0, "no flag; latent attention rounds to pairs");
}

void write_yarn(const AttentionSpec& a, Exported& e) {
  const RopeScaling& s = a.rope_scaling;
  write_yarn_scale(s, e);
  add(e, "--yarn-original-max-position-embeddings",
      static_cast<std::int64_t>(std::llround(s.original_positions)));
  add(e, "--yarn-beta-fast", s.beta_fast);
  add(e, "--yarn-beta-slow", s.beta_slow);
  add(e, s.truncate ? "--yarn-correction-range-round-to-int"
                    : "--no-yarn-correction-range-round-to-int");
}

bool is_yarn(const AttentionSpec& a) { return a.rope_scaling.rule == RopeRule::yarn; }

void write_scaling(const AttentionSpec& a, Exported& e) {
  const RopeScaling& s = a.rope_scaling;
  switch (s.rule) {
    case RopeRule::plain:
      return;
    case RopeRule::yarn:
      return a.kind == AttentionKind::mla ? write_latent_yarn(s, e) : write_yarn(a, e);
    case RopeRule::llama3:
      add(e, "--use-rope-scaling");
      add(e, "--rope-scaling-factor", s.factor);
      if (s.original_positions != kLlamaPositions || s.low_freq_factor != kLlamaLow ||
          s.high_freq_factor != kLlamaHigh) {
        miss(e, "model.attention.rope_scaling", "set",
             fmt::format("Megatron-LM has {} positions and factors {} and {} of frequencies",
                         kLlamaPositions, kLlamaLow, kLlamaHigh));
      }
      return;
    case RopeRule::linear:
    case RopeRule::unknown:
      break;
  }
  if (s.rule == RopeRule::linear && s.factor == std::round(s.factor)) {
    return add(e, "--rotary-seq-len-interpolation-factor",
               static_cast<std::int64_t>(std::llround(s.factor)));
  }
  miss(e, "model.attention.rope_scaling", "set", "positions of this kind have no flag");
}

}  // namespace

void write_positions(const ModelSpec& m, Exported& e) {
  if (m.learned_positions > 0) {
    add(e, "--position-embedding-type", {"learned_absolute"});
    return;
  }
  const AttentionSpec& a = m.attention;
  const bool latent = a.kind == AttentionKind::mla;
  add(e, "--position-embedding-type", {is_yarn(a) && !latent ? "yarn" : "rope"});
  add(e, "--rotary-base", static_cast<std::int64_t>(std::llround(a.rope_theta)));
  if (a.kind == AttentionKind::gqa && a.rotary_dim > 0 && a.rotary_dim != a.head_dim) {
    add(e, "--rotary-percent", static_cast<double>(a.rotary_dim) / static_cast<double>(a.head_dim));
    if (is_yarn(a)) {
      miss(e, "model.attention.rotary_dim", std::to_string(a.rotary_dim),
           "Megatron-LM's YaRN turns all columns of a head");
    }
  }
  if (a.kind == AttentionKind::gqa && a.rope_interleaved) add(e, "--rotary-interleaved");
  write_scaling(a, e);
}

// Without --rope-type latent attention has YaRN, whose factor is then 1.
void read_positions(const ArgumentReader& r, AttentionSpec& a) {
  RopeScaling& s = a.rope_scaling;
  const bool latent = a.kind == AttentionKind::mla;
  if (latent ? r.text("rope_type") != "rope" : r.text("position_embedding_type") == "yarn") {
    s.factor = r.number("rotary_scaling_factor").value_or(1.0);
    if (s.factor <= 1) {
      s = {};
      return;
    }
    s.rule = RopeRule::yarn;
    const double m = r.number("mscale").value_or(1.0), all = r.number("mscale_all_dim").value_or(0);
    s.magnitude = yarn_magnitude(s.factor, m) / yarn_magnitude(s.factor, all);
    s.original_positions = kPositions;
    if (latent) {
      s.scores = yarn_magnitude(s.factor, all) * yarn_magnitude(s.factor, all);
      return;
    }
    s.original_positions = static_cast<double>(
        r.integer("yarn_original_max_position_embeddings").value_or(std::llround(kPositions)));
    s.beta_fast = r.number("yarn_beta_fast").value_or(kBetaFast);
    s.beta_slow = r.number("yarn_beta_slow").value_or(kBetaSlow);
    s.truncate = !r.is_off("yarn_correction_range_round_to_int");
  } else if (r.is_on("use_rope_scaling")) {
    s.rule = RopeRule::llama3;
    s.factor = r.number("rope_scaling_factor").value_or(8.0);
    s.original_positions = kLlamaPositions;
    s.low_freq_factor = kLlamaLow;
    s.high_freq_factor = kLlamaHigh;
  } else if (const auto factor = r.integer("rotary_seq_len_interpolation_factor")) {
    s.rule = RopeRule::linear;
    s.factor = static_cast<double>(*factor);
  }
}

}  // namespace pleat::interop
