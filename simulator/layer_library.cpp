// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_library.hpp"

#include "simulator/stage_record.hpp"

namespace pleat {

LayerLibrary::LayerLibrary(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                           const ClusterView& view, Runtime runtime)
    : plan_(plan),
      view_(view),
      runtime_(runtime),
      shape_(model, workload, plan_),
      routed_(routed_tokens(model, workload, plan_)) {}

const SharedLayer& LayerLibrary::known_program(const LayerVariant& variant) {
  auto found = programs_.find(variant);
  if (found == programs_.end()) {
    found = programs_.emplace(variant, compile_layer(shape_, runtime_, variant)).first;
  }
  return found->second;
}

SharedLayer LayerLibrary::program(const LayerVariant& variant) {
  const std::lock_guard lock(mutex_);
  return known_program(variant);
}

LayerCosts LayerLibrary::costs(const LayerVariant& variant, int clock, const Profile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = costs_.try_emplace({variant, clock});
  if (fresh) found->second = price(known_program(variant), routed_, routed_, view_, profile);
  return found->second;
}

PassCost LayerLibrary::pair(const LayerVariant& forward, const LayerVariant& backward, int clock,
                            const Profile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = pairs_.try_emplace({forward, backward, clock});
  if (fresh) {
    found->second = price_pair(known_program(forward), known_program(backward), routed_, view_,
                               profile, plan_.overlap.delay_wgrad);
  }
  return found->second;
}

}  // namespace pleat
