// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_library.hpp"

#include "simulator/stage_record.hpp"

namespace pleat {

LayerLibrary::LayerLibrary(const Memos& memos, const ModelSpec& model, const WorkloadSpec& workload,
                           const Plan& plan, const ClusterView& view)
    : memos_(memos),
      delay_wgrad_(plan.overlap.delay_wgrad),
      view_(view),
      routed_(routed_tokens(model, workload, plan)) {}

LayerMemo& LayerLibrary::memo_of(const LayerVariant& variant) {
  return *memos_[static_cast<std::size_t>(group_of(variant))];
}

SharedLayer LayerLibrary::program(const LayerVariant& variant) {
  return memo_of(variant).program(variant, true);
}

LayerCosts LayerLibrary::costs(const LayerVariant& variant, int clock, const Profile& profile) {
  return memo_of(variant).costs(variant, clock, profile);
}

PassCost LayerLibrary::pair(const LayerVariant& forward, const LayerVariant& backward, int clock,
                            const Profile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = pairs_.try_emplace({forward, backward, clock});
  if (fresh) {
    const Seconds alone = costs(forward, clock, profile).forward.streams +
                          costs(backward, clock, profile).backward.streams;
    found->second = price_pair(memo_of(forward).program(forward, false),
                               memo_of(backward).program(backward, false), routed_, view_, profile,
                               delay_wgrad_, alone);
  }
  return found->second;
}

LayerWork LayerLibrary::work(const LayerVariant& variant, const Profile& profile, bool all) {
  return memo_of(variant).work(variant, profile, all);
}

LayerWeights LayerLibrary::weights(const LayerVariant& variant) {
  return memo_of(variant).weights(variant);
}

void LayerLibrary::forget(bool all) {
  for (LayerMemo* memo : memos_) memo->forget(all);
}

}  // namespace pleat
