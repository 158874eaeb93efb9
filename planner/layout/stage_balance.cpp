// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/stage_balance.hpp"

#include <algorithm>

namespace pleat {
namespace {

// The model as the sequence E t … t m L; E costs nothing, so it is glued to the first layer.
struct Piece {
  Flops cost;
  enum Kind { layer, mtp, loss } kind = layer;
};

std::vector<Piece> pieces_of(const ModelSpec& model, const ForwardFlops& f) {
  std::vector<Piece> pieces;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    pieces.push_back({model.is_moe(l) ? f.moe_layer : f.dense_layer, Piece::layer});
  }
  if (model.mtp_layers > 0) pieces.push_back({f.mtp, Piece::mtp});
  pieces.push_back({f.head, Piece::loss});
  return pieces;
}

// First piece of each stage when every stage is filled up to `limit`, as long as the stages after
// it still get a piece each. Returns more than `stages` entries if the limit is too small.
std::vector<std::size_t> pack(const std::vector<Piece>& pieces, std::size_t stages, Flops limit) {
  std::vector<std::size_t> starts{0};
  Flops filled;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t stages_after = stages > starts.size() ? stages - starts.size() : 0;
    const bool first_of_stage = starts.back() == i;
    const bool must_close = pieces.size() - i <= stages_after;
    if (!first_of_stage && (filled + pieces[i].cost > limit || must_close)) {
      starts.push_back(i);
      filled = Flops{};
    }
    filled += pieces[i].cost;
  }
  return starts;
}

}  // namespace

ForwardFlops forward_flops(const ModelSpec& model, std::int64_t seq_len) {
  const AttentionSpec& a = model.attention;
  const auto real = [](std::int64_t v) { return static_cast<double>(v); };
  const double h = real(model.hidden);
  double weights = 0;  // of one attention block
  if (a.kind == AttentionKind::mla) {
    const double q = real(a.heads * a.qk_dim());
    weights = a.q_lora_rank > 0 ? real(a.q_lora_rank) * (h + q) : h * q;
    weights += h * real(a.kv_lora_rank + a.qk_rope_head_dim);
    weights += real(a.kv_lora_rank * a.heads * (a.qk_nope_head_dim + a.v_head_dim));
  } else {
    weights = h * real((a.heads + 2 * a.kv_groups) * a.head_dim);
  }
  weights += real(a.heads * a.v_dim()) * h;
  // Causal: a token sees seq/2 keys on average; 2 FLOPs each for scores and values.
  const double core = real(seq_len) * real(a.heads * (a.qk_dim() + a.v_dim()));
  const double attention = 2 * weights + core;
  const double matrices = model.gated_mlp ? 3 : 2;
  ForwardFlops f;
  f.dense_layer = Flops(attention + 2 * matrices * h * real(model.ffn));
  if (model.moe) {
    const MoeSpec& moe = *model.moe;
    f.moe_layer = Flops(attention + 2 * 3 * h * real(moe.top_k * moe.ffn + moe.shared_ffn));
  }
  f.head = Flops(2 * h * real(model.vocab));
  // Each depth: a projection of 2h to h, one decoder layer, the shared head.
  const Flops layer = model.moe ? f.moe_layer : f.dense_layer;
  f.mtp = real(model.mtp_layers) * (layer + f.head + Flops(4 * h * h));
  return f;
}

Flops forward_flops(const VirtualStage& stage, const ModelSpec& model, const ForwardFlops& f) {
  Flops sum;
  for (std::int64_t l = stage.first_layer; l < stage.first_layer + stage.layers; ++l) {
    sum += model.is_moe(l) ? f.moe_layer : f.dense_layer;
  }
  if (stage.mtp) sum += f.mtp;
  if (stage.loss) sum += f.head;
  return sum;
}

Flops bottleneck(const std::vector<VirtualStage>& stages, const ModelSpec& model,
                 const ForwardFlops& f) {
  Flops worst;
  for (const VirtualStage& s : stages) worst = std::max(worst, forward_flops(s, model, f));
  return worst;
}

std::vector<VirtualStage> balanced_layout(const ModelSpec& model, std::int64_t seq_len, int pp,
                                          int vpp) {
  const ForwardFlops f = forward_flops(model, seq_len);
  const std::vector<Piece> pieces = pieces_of(model, f);
  const auto stages = static_cast<std::size_t>(pp) * static_cast<std::size_t>(vpp);
  if (stages > pieces.size()) return {};

  // The optimum is the cost of some run of pieces: try them in ascending order.
  std::vector<Flops> limits;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Flops sum;
    for (std::size_t j = i; j < pieces.size(); ++j) limits.push_back(sum += pieces[j].cost);
  }
  std::sort(limits.begin(), limits.end());
  const auto best = std::partition_point(limits.begin(), limits.end(), [&](Flops limit) {
    // A single piece above the limit is a stage that exceeds it.
    return pack(pieces, stages, limit).size() > stages ||
           std::any_of(pieces.begin(), pieces.end(),
                       [&](const Piece& p) { return p.cost > limit; });
  });
  const std::vector<std::size_t> starts = pack(pieces, stages, *best);

  std::vector<VirtualStage> layout(stages);
  layout.front().embedding = true;
  std::int64_t layer = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    layout[s].first_layer = layer;
    const std::size_t end = s + 1 < stages ? starts[s + 1] : pieces.size();
    for (std::size_t i = starts[s]; i < end; ++i) {
      switch (pieces[i].kind) {
        case Piece::layer:
          ++layout[s].layers;
          ++layer;
          break;
        case Piece::mtp:
          layout[s].mtp = true;
          break;
        case Piece::loss:
          layout[s].loss = true;
          break;
      }
    }
  }
  return layout;
}

}  // namespace pleat
