// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/layout_pieces.hpp"

#include <algorithm>
#include <optional>

#include "planner/bounds/layer_bounds.hpp"
#include "simulator/layer_library.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

bool is_decoder_layer(const LayerVariant& v) {
  return v.kind == LayerKind::dense || v.kind == LayerKind::moe;
}

// The times of pieces that run alone are exact. In pairs only decoder layers overlap. Each of them
// gets a share of the pair's time such that two shares never exceed their pair; the most frequent
// kind gets the largest share.
class PieceTimes {
 public:
  PieceTimes(const CountedLayers& counted, LayerLibrary& library, bool paired,
             const Profile& profile)
      : counted_(counted), library_(library), profile_(profile) {
    for (const LayerVariant& v : counted.variants()) {
      const LayerCosts c = library.costs(v, kClockSteps, profile);
      times_.push_back({{c.forward.time, c.backward.time, c.input.time, c.weight.time,
                         c.forward.time, c.backward.time}});
    }
    if (!paired) return;
    share(counted.most_frequent());
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (i != counted.most_frequent() && is_decoder_layer(counted.variants()[i])) share(i);
    }
  }
  [[nodiscard]] const PieceTime& operator[](std::size_t i) const { return times_[i]; }

 private:
  [[nodiscard]] Seconds pair(std::size_t forward, std::size_t backward) const {
    return library_
        .pair(counted_.variants()[forward], counted_.variants()[backward], kClockSteps, profile_)
        .time;
  }
  void share(std::size_t i) {
    auto& forward = times_[i].of[static_cast<std::size_t>(PieceUse::pair_forward)];
    auto& backward = times_[i].of[static_cast<std::size_t>(PieceUse::pair_backward)];
    for (const std::size_t s : shared_) {
      forward = std::min(forward, pair(i, s) - times_[s][PieceUse::pair_backward]);
      backward = std::min(backward, pair(s, i) - times_[s][PieceUse::pair_forward]);
    }
    const Seconds own = pair(i, i), over = forward + backward - own;
    if (over > Seconds(0)) {
      if (shared_.empty()) forward -= over * (forward / (forward + backward));
      backward = own - forward;
    }
    shared_.push_back(i);
  }

  const CountedLayers& counted_;
  LayerLibrary& library_;
  const Profile& profile_;
  std::vector<PieceTime> times_;
  std::vector<std::size_t> shared_;
};

}  // namespace

Plan with_like_layers(Plan plan) {
  if (!plan.stages.empty()) {  // they choose for themselves: none gives up less than nothing
    plan.stages.clear();
    plan.recompute.clear();
    plan.recompute_full = false;
    plan.recompute_layers = 0;
    plan.recompute_unit = 1;
    plan.offload.clear();
  }
  plan.offload_layers = 0;
  if (plan.recompute_full && (plan.recompute_layers > 0 || plan.recompute_unit > 1)) {
    plan.recompute_full = false;
    plan.recompute_layers = 0;
    plan.recompute_unit = 1;
  }
  return plan;
}

std::vector<Seconds> LayoutPieces::in_order() const {
  std::vector<Seconds> times;
  for (const std::size_t kind : kinds) {
    const PieceTime& t = pieces.free[kind].time;
    times.push_back(t[PieceUse::pair_forward] + t[PieceUse::pair_backward]);
  }
  return times;
}

LayoutPieces pieces_of(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                       const PlanParts& parts, const Profile& profile) {
  const CountedLayers counted(model, workload);
  const std::vector<LayerVariant>& variants = counted.variants();
  const PieceTimes times(counted, *parts.library, plan.overlap.expert_parallel, profile);
  LayoutPieces all;
  std::vector<std::optional<std::size_t>> kind(variants.size());
  const auto place = [&](const LayerVariant& v) {
    const auto i = static_cast<std::size_t>(counted.index_of(v));
    if (!kind[i]) {
      kind[i] = all.pieces.free.size();
      all.pieces.free.push_back({times[i], 0});
    }
    all.kinds.push_back(*kind[i]);
    ++all.pieces.free[*kind[i]].count;
  };
  for (std::int64_t l = 0; l < model.layers; ++l) place(decoder_variant(model, workload, l));
  std::optional<Seconds> send;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    switch (variants[i].kind) {
      case LayerKind::mtp: place(variants[i]); break;
      case LayerKind::embedding: all.pieces.first = times[i]; break;
      case LayerKind::head: all.pieces.last = times[i]; break;
      case LayerKind::send: {
        const Seconds one = parts.library->work(variants[i], kClockSteps, profile, false).send;
        send = std::min(send.value_or(one), one);
        break;
      }
      case LayerKind::dense:
      case LayerKind::moe:
      case LayerKind::recv: break;
    }
  }
  // A tensor may be sent in shares and gathered, which is cheaper than in one piece.
  const bool shared = plan.attention.tp > 1 && !plan.sequence_parallel;
  all.transfer = shared ? Seconds(0) : send.value_or(Seconds(0));
  return all;
}

}  // namespace pleat
