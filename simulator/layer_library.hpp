// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Programs and prices of the layers that plans with one LayerKey share.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "core/program/stage_composition.hpp"
#include "core/program/shared_layer.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

class LayerLibrary {
 public:
  // The references must outlive the library; `plan` is one of those that share it.
  LayerLibrary(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
               const ClusterView& view, Runtime runtime);
  LayerLibrary(const LayerLibrary&) = delete;
  LayerLibrary& operator=(const LayerLibrary&) = delete;

  // `clock` names the profile, which is the same whenever the clock is.
  [[nodiscard]] SharedLayer program(const LayerVariant&);
  [[nodiscard]] LayerCosts costs(const LayerVariant&, int clock, const Profile&);
  [[nodiscard]] PassCost pair(const LayerVariant& forward, const LayerVariant& backward, int clock,
                              const Profile&);

 private:
  const SharedLayer& known_program(const LayerVariant&);

  Plan plan_;
  ClusterView view_;
  Runtime runtime_;
  LocalShape shape_;  // of plan_
  Binding routed_;
  std::mutex mutex_;  // of what follows
  std::map<LayerVariant, SharedLayer> programs_;
  std::map<std::pair<LayerVariant, int>, LayerCosts> costs_;
  std::map<std::tuple<LayerVariant, LayerVariant, int>, PassCost> pairs_;
};

}  // namespace pleat
