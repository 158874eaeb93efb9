// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Programs and prices of all layers of the plans with one LayerKey. Layers of a group that depends
// on less are shared with other libraries.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <tuple>

#include "simulator/layer_memo.hpp"
#include "simulator/plan_key.hpp"

namespace pleat {

class LayerLibrary {
 public:
  // By LayerGroup; the references must outlive the library, `plan` is one of those that share it.
  using Memos = std::array<LayerMemo*, kLayerGroups>;
  LayerLibrary(const Memos&, const ModelSpec&, const WorkloadSpec&, const Plan& plan,
               const ClusterView&);
  LayerLibrary(const LayerLibrary&) = delete;
  LayerLibrary& operator=(const LayerLibrary&) = delete;

  // `clock` names the profile, which is the same whenever the clock is.
  [[nodiscard]] SharedLayer program(const LayerVariant&);
  [[nodiscard]] LayerCosts costs(const LayerVariant&, int clock, const Profile&);
  [[nodiscard]] PassCost pair(const LayerVariant& forward, const LayerVariant& backward, int clock,
                              const Profile&);
  [[nodiscard]] LayerWork work(const LayerVariant&, const Profile&, bool all);  // as LayerMemo's
  [[nodiscard]] LayerWeights weights(const LayerVariant&);
  void forget(bool all);  // as LayerMemo::forget

 private:
  LayerMemo& memo_of(const LayerVariant&);

  Memos memos_;
  bool delay_wgrad_;
  ClusterView view_;
  Binding routed_;
  std::mutex mutex_;  // of what follows
  std::map<std::tuple<LayerVariant, LayerVariant, int>, PassCost> pairs_;
};

}  // namespace pleat
