// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Programs and prices of layers that plans share.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/program/shared_layer.hpp"
#include "core/program/stage_composition.hpp"
#include "simulator/layer_savings.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/layer_work.hpp"
#include "simulator/plan_key.hpp"
#include "simulator/priced_ops.hpp"

namespace pleat {

// Programs and prices of the layers of one LayerGroup. Plans with the same group key share them.
// Layers of a group are few, and clocks fewer: what is known of them is looked for one by one.
class LayerMemo {
 public:
  // The references must outlive the memo; `plan` is one of those that share it.
  LayerMemo(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
            const ClusterView& view, Runtime runtime);
  LayerMemo(const LayerMemo&) = delete;
  LayerMemo& operator=(const LayerMemo&) = delete;

  // `keep`: the program stays; otherwise until the next forget().
  [[nodiscard]] SharedLayer program(const LayerVariant&, bool keep);
  // What its ops take, until its program is forgotten.
  [[nodiscard]] std::shared_ptr<const PricedLayer> ops(const LayerVariant&, int clock,
                                                       const Profile&);
  // What is given as a reference stays where it is. `clock` identifies the profile: equal clocks
  // mean equal profiles.
  [[nodiscard]] const LayerCosts& costs(const LayerVariant&, int clock, const Profile&);
  // Without `all`: compute and sends alone.
  [[nodiscard]] const LayerWork& work(const LayerVariant&, int clock, const Profile&, bool all);
  [[nodiscard]] const LayerSavings& savings(const LayerVariant&,
                                            const Profile&);  // at the burst clock
  [[nodiscard]] const LayerWeights& weights(const LayerVariant&);
  [[nodiscard]] Binding rows_of(const LayerProgram& layer) const { return rows_.of(layer); }
  // Frees programs, which take most of the memory: those that were needed for prices only, or all.
  void forget(bool all);

 private:
  template <class Price>
  struct AtClock {
    int clock = 0;
    std::shared_ptr<const Price> price;
  };
  template <class Price>
  using ByClock = std::vector<AtClock<Price>>;
  // What is known of one layer. Prices stay; the program and what its ops take are forgotten.
  struct Layer {
    LayerVariant variant;
    std::optional<SharedLayer> program = {};
    bool kept = false;  // the program, when those that served prices alone are forgotten
    ByClock<PricedLayer> ops = {};
    ByClock<LayerCosts> costs = {};
    ByClock<LayerWork> work = {}, compute = {};
    std::optional<LayerSavings> savings = {};
    std::optional<LayerWeights> weights = {};
  };
  Layer& layer_of(const LayerVariant&);  // it stays where it is
  SharedLayer compiled(Layer&);
  // make(program) -> Price
  template <class Price, class Make>
  const Price& get(const LayerVariant&, std::optional<Price> Layer::*, const Make&);
  // make() -> Price
  template <class Price, class Make>
  std::shared_ptr<const Price> get(Layer&, ByClock<Price> Layer::*, int clock, const Make&);
  std::shared_ptr<const PricedLayer> ops(Layer&, const SharedLayer&, int clock, const Profile&);

  Plan plan_;
  ClusterView view_;
  Runtime runtime_;
  LocalShape shape_;  // of plan_
  LayerRows rows_;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Layer>> layers_;
};

// The memo that the plan's layers of a group share with other plans'. It stays where it is.
using MemoSource = std::function<LayerMemo&(const Plan&, LayerGroup)>;

// Programs and prices of all layers of the plans with one LayerKey. The memos of its groups depend
// on fewer fields of the plan, so several libraries share them. There may be a hundred thousand
// libraries, so each is small, and asks for a memo when it first needs it.
class LayerLibrary {
  struct LayerPair {
    LayerVariant forward, backward;
    int clock = 0;
    bool operator==(const LayerPair&) const = default;
    struct Hash {
      std::size_t operator()(const LayerPair& pair) const;
    };
  };

 public:
  // The references must outlive the library, `plan` is one of those that share it.
  LayerLibrary(const MemoSource&, const ClusterSpec&, const Plan& plan, Runtime);
  LayerLibrary(const LayerLibrary&) = delete;
  LayerLibrary& operator=(const LayerLibrary&) = delete;

  // `clock` names the profile, which is the same whenever the clock is.
  [[nodiscard]] SharedLayer program(const LayerVariant&);
  [[nodiscard]] const LayerCosts& costs(const LayerVariant&, int clock, const Profile&);
  [[nodiscard]] const PassCost& pair(const LayerVariant& forward, const LayerVariant& backward,
                                     int clock, const Profile&);
  // As LayerMemo's, or no more: a layer's mixer and the rest of it are looked at each by itself,
  // where they add up, so that layers which differ in one of them share the other.
  [[nodiscard]] LayerWork work(const LayerVariant&, int clock, const Profile&, bool all);
  [[nodiscard]] LayerWeights least_weights(const LayerVariant&);
  [[nodiscard]] const LayerSavings& savings(const LayerVariant&, const Profile&);
  [[nodiscard]] const LayerWeights& weights(const LayerVariant&);
  void forget(bool all);  // as LayerMemo::forget

 private:
  LayerMemo& memo_of(const LayerVariant&);
  [[nodiscard]] bool in_halves(const LayerVariant&) const;

  const MemoSource& source_;
  const ClusterSpec& cluster_;
  const Plan plan_;
  const bool halves_add_up_;  // in plans of these layers
  std::array<std::atomic<LayerMemo*>, kLayerGroups> memos_{};  // null: not asked for yet
  std::mutex mutex_;  // of what follows
  std::unordered_map<LayerPair, PassCost, LayerPair::Hash> pairs_;
};

}  // namespace pleat
