// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_memo.hpp"

#include "simulator/stage_record.hpp"

namespace pleat {

LayerMemo::LayerMemo(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                     const ClusterView& view, Runtime runtime)
    : plan_(plan),
      view_(view),
      runtime_(runtime),
      shape_(model, workload, plan_),
      routed_(routed_tokens(model, workload, plan_)) {}

LayerMemo::Kept& LayerMemo::known(const LayerVariant& variant) {
  auto found = programs_.find(variant);
  if (found == programs_.end()) {
    found = programs_.emplace(variant, Kept{compile_layer(shape_, runtime_, variant)}).first;
    weights_.try_emplace(variant, count_weights(found->second.layer));
  }
  return found->second;
}

SharedLayer LayerMemo::program(const LayerVariant& variant, bool keep) {
  const std::lock_guard lock(mutex_);
  Kept& kept = known(variant);
  kept.keep = kept.keep || keep;
  return kept.layer;
}

LayerCosts LayerMemo::costs(const LayerVariant& variant, int clock, const Profile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = costs_.try_emplace({variant, clock});
  if (fresh) found->second = price(known(variant).layer, routed_, routed_, view_, profile);
  return found->second;
}

LayerWork LayerMemo::work(const LayerVariant& variant, const Profile& profile, bool all) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = (all ? work_ : compute_).try_emplace(variant);
  if (fresh) {
    found->second =
        (all ? work_of : compute_of)(known(variant).layer, routed_, view_, profile);
  }
  return found->second;
}

LayerWeights LayerMemo::weights(const LayerVariant& variant) {
  const std::lock_guard lock(mutex_);
  const auto found = weights_.find(variant);
  if (found != weights_.end()) return found->second;
  known(variant);
  return weights_.at(variant);
}

void LayerMemo::forget(bool all) {
  const std::lock_guard lock(mutex_);
  std::erase_if(programs_, [=](const auto& entry) { return all || !entry.second.keep; });
}

}  // namespace pleat
