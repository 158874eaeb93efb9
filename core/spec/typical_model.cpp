// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/typical_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/json/json_value.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kVocabulary = 131'072, kHeadSize = 128, kGroups = 8;
constexpr double kTolerance = 0.02;

// Shapes that published models of many sizes have, as ratios (configs/models).
constexpr double kDenseAspect = 120;   // hidden size over layers: Llama 3 8B to 405B, 102 to 130
constexpr double kDenseFfn = 3.5;      // feed-forward width over hidden size
constexpr double kMoeAspect = 70;      // Qwen3-235B 44, GLM-4.5 56, DeepSeek-V3 and Kimi K2 117
constexpr double kExpertWidth = 0.32;  // an expert's over the hidden size: 0.29 to 0.38

struct Size {
  double total = 0, active = 0;  // equal: dense
};

std::optional<double> billions(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return std::nullopt;
  const char unit = text.front();
  text.remove_prefix(1);
  if (unit == 'B' || unit == 'b') return value * 1e9;
  if (unit == 'T' || unit == 't') return value * 1e12;
  return std::nullopt;
}

std::optional<Size> read_size(std::string_view name) {
  const auto total = billions(name);
  if (!total || *total < 1e9 || *total > 1e14) return std::nullopt;
  if (name.empty()) return Size{*total, *total};
  if (!name.starts_with("-A") && !name.starts_with("-a")) return std::nullopt;
  name.remove_prefix(2);
  const auto active = billions(name);
  if (!active || !name.empty() || *active < 1e8 || *active >= *total) return std::nullopt;
  return Size{*total, *active};
}

struct Shape {
  std::int64_t layers = 0, hidden = 0, heads = 0, ffn = 0;
  std::int64_t experts = 0, top_k = 0;  // 0: dense
};

std::int64_t rounded(double value, std::int64_t unit) {
  return std::max<std::int64_t>(unit, std::llround(value / static_cast<double>(unit)) * unit);
}

// Weights outside of MLPs and experts: attention, tables, norms are left out.
double other_weights(const Shape& s) {
  const double h = static_cast<double>(s.hidden);
  const double columns = static_cast<double>((2 * s.heads + 2 * kGroups) * kHeadSize);
  return static_cast<double>(s.layers) * h * columns + 2.0 * static_cast<double>(kVocabulary) * h;
}

double mlp_weights(const Shape& s, double experts) {
  const double layers = static_cast<double>(s.layers), h = static_cast<double>(s.hidden);
  const double router = static_cast<double>(s.experts) * h;
  return layers * (3.0 * h * static_cast<double>(s.ffn) * experts + router);
}

// How far a shape is from the size asked for and from what models look like; infinite: too far.
double distance(const Shape& s, const Size& size) {
  const double other = other_weights(s);
  const bool moe = s.experts > 0;
  const double total = other + mlp_weights(s, moe ? static_cast<double>(s.experts) : 1);
  const double active = other + mlp_weights(s, moe ? static_cast<double>(s.top_k) : 1);
  const double miss =
      std::max(std::abs(total / size.total - 1), std::abs(active / size.active - 1));
  if (miss > kTolerance) return std::numeric_limits<double>::infinity();
  const double h = static_cast<double>(s.hidden);
  const double aspect = h / static_cast<double>(s.layers) / (moe ? kMoeAspect : kDenseAspect);
  const double width = static_cast<double>(s.ffn) / h / (moe ? kExpertWidth : kDenseFfn);
  return 10 * miss + std::abs(std::log(aspect)) + std::abs(std::log(width));
}

// Of a hidden size and a number of layers, the MLP or the experts that make up the size.
Shape fill(Shape s, const Size& size, std::int64_t top_k) {
  const double layers = static_cast<double>(s.layers), h = static_cast<double>(s.hidden);
  const double other = other_weights(s);
  if (top_k == 0) {
    s.ffn = rounded((size.total - other) / (3 * h * layers), 256);
    return s;
  }
  s.top_k = top_k;
  const double width = (size.active - other) / (3 * h * layers * static_cast<double>(top_k));
  s.ffn = rounded(width, 128);
  if (width <= 0) return s;
  const double each = 3 * h * static_cast<double>(s.ffn) * layers;
  const double experts = (size.total - other) / each;  // in numbers that EP likes to divide
  s.experts = rounded(experts, experts > 512 ? 64 : experts > 128 ? 32 : experts > 64 ? 16 : 8);
  return s;
}

Shape best_shape(const Size& size) {
  const bool dense = size.total == size.active;
  Shape best;
  double least = std::numeric_limits<double>::infinity();
  const std::int64_t step = dense ? 1024 : 512;  // heads in multiples of the groups
  for (std::int64_t hidden = 1024; hidden <= 65'536; hidden += step) {
    for (std::int64_t layers = 12; layers <= 256; layers += 2) {
      Shape s{.layers = layers, .hidden = hidden};
      s.heads = dense ? hidden / kHeadSize : hidden / 64;
      for (const std::int64_t top_k : {8, 4, 2}) {
        const Shape filled = fill(s, size, dense ? 0 : top_k);
        // Eight experts a token are usual by now.
        const double d = distance(filled, size) + (dense || top_k == 8 ? 0 : 0.4);
        if (d < least) {
          least = d;
          best = filled;
        }
        if (dense) break;
      }
    }
  }
  return best;
}

std::string config_of(const Shape& s) {
  JsonValue o = JsonValue::object();
  const bool moe = s.experts > 0;
  o.set("model_type", moe ? "qwen3_moe" : "llama")
      .set("hidden_size", s.hidden)
      .set("num_hidden_layers", s.layers)
      .set("num_attention_heads", s.heads)
      .set("num_key_value_heads", kGroups)
      .set("head_dim", kHeadSize)
      .set("vocab_size", kVocabulary)
      .set("hidden_act", "silu")
      .set("rms_norm_eps", 1e-6)
      .set("rope_theta", 1e6)
      .set("max_position_embeddings", std::int64_t{131'072})
      .set("tie_word_embeddings", false);
  if (moe) {
    o.set("intermediate_size", s.ffn * s.top_k)
        .set("moe_intermediate_size", s.ffn)
        .set("num_experts", s.experts)
        .set("num_experts_per_tok", s.top_k)
        .set("norm_topk_prob", true)
        .set("decoder_sparse_step", std::int64_t{1})
        .set("mlp_only_layers", JsonValue::array());
  } else {
    o.set("intermediate_size", s.ffn);
  }
  return o.dump();
}

}  // namespace

std::optional<TypicalModel> typical_model(std::string_view name) {
  const auto size = read_size(name);
  if (!size) return std::nullopt;
  const Shape s = best_shape(*size);
  if (s.layers == 0) return std::nullopt;
  return TypicalModel{
      config_of(s),
      s.experts > 0 ? fmt::format("{} layers of {}, {} experts of {}, {} a token", s.layers,
                                  s.hidden, s.experts, s.ffn, s.top_k)
                    : fmt::format("{} layers of {}, MLPs of {}", s.layers, s.hidden, s.ffn)};
}

}  // namespace pleat
