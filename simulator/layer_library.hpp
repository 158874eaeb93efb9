// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Programs and prices of layers that plans share.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "core/program/shared_layer.hpp"
#include "core/program/stage_composition.hpp"
#include "simulator/layer_savings.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/layer_work.hpp"
#include "simulator/plan_key.hpp"

namespace pleat {

// Programs and prices of the layers of one LayerGroup. Plans with the same group key share them.

class LayerMemo {
 public:
  // The references must outlive the memo; `plan` is one of those that share it.
  LayerMemo(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
            const ClusterView& view, Runtime runtime);
  LayerMemo(const LayerMemo&) = delete;
  LayerMemo& operator=(const LayerMemo&) = delete;

  // `keep`: the program stays; otherwise until the next forget().
  [[nodiscard]] SharedLayer program(const LayerVariant&, bool keep);
  // `clock` identifies the profile: equal clocks mean equal profiles.
  [[nodiscard]] LayerCosts costs(const LayerVariant&, int clock, const Profile&);
  // Without `all`: compute and sends alone.
  [[nodiscard]] LayerWork work(const LayerVariant&, int clock, const Profile&, bool all);
  [[nodiscard]] LayerSavings savings(const LayerVariant&, const Profile&);  // at the burst clock
  [[nodiscard]] LayerWeights weights(const LayerVariant&);
  // Frees programs, which take most of the memory: those that were needed for prices only, or all.
  void forget(bool all);

 private:
  template <class Map, class Make>
  typename Map::mapped_type get(Map&, const typename Map::key_type&, const Make&);

  Plan plan_;
  ClusterView view_;
  Runtime runtime_;
  LocalShape shape_;  // of plan_
  LayerRows rows_;
  std::mutex mutex_;  // of what follows
  std::map<LayerVariant, SharedLayer> programs_;
  std::set<LayerVariant> kept_;
  std::map<std::pair<LayerVariant, int>, LayerCosts> costs_;
  std::map<std::pair<LayerVariant, int>, LayerWork> work_, compute_;
  std::map<LayerVariant, LayerSavings> savings_;
  std::map<LayerVariant, LayerWeights> weights_;
};

// Programs and prices of all layers of the plans with one LayerKey. The memos of its groups depend
// on fewer fields of the plan, so several libraries share them.

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
  [[nodiscard]] LayerWork work(const LayerVariant&, int clock, const Profile&,
                               bool all);  // as LayerMemo's
  [[nodiscard]] LayerSavings savings(const LayerVariant&, const Profile&);
  [[nodiscard]] LayerWeights weights(const LayerVariant&);
  void forget(bool all);  // as LayerMemo::forget

 private:
  LayerMemo& memo_of(const LayerVariant&);

  Memos memos_;
  bool delay_wgrad_;
  ClusterView view_;
  LayerRows rows_;
  std::mutex mutex_;  // of what follows
  std::map<std::tuple<LayerVariant, LayerVariant, int>, PassCost> pairs_;
};

}  // namespace pleat
