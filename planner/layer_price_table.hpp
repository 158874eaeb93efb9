// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layer prices shared by all plans whose layers are the same: the price of a layer depends on the
// degrees that shape it and on where its groups lie, not on the pipeline, so it is computed once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "planner/search.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

struct LayerKey {
  int tp = 1, cp = 1, etp = 1, ep = 1, micro_batch = 1;
  std::set<Module> recompute;
  bool recompute_full = false;
  auto operator<=>(const LayerKey&) const = default;
};
[[nodiscard]] LayerKey layer_key(const Plan&);
[[nodiscard]] LayerKey without_recompute(LayerKey);

// What one layer adds to a chunk.
struct LayerPrice {
  Seconds forward, backward;
  Seconds overlapped;      // of both passes, without what expert-parallel overlap can hide
  std::int64_t saved = 0;  // live bytes a forward pass leaves behind
  std::int64_t weights[2] = {0, 0};  // elements, by Bucket
};

struct LayerPrices {
  std::array<LayerPrice, 5> kinds{};  // embedding, dense, moe, mtp, head
  std::int64_t output_bytes = 0;      // of a layer's output, which dies when it is sent
  [[nodiscard]] const LayerPrice& of(LayerKind kind) const {
    return kinds[static_cast<std::size_t>(kind)];
  }
};

class LayerPriceTable {
 public:
  LayerPriceTable(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
                  Runtime, int threads);

  // Prices what is not known yet; `plans` give the keys. With `bare`, the keys without recompute.
  void prepare(const std::vector<const Plan*>& plans, bool bare);
  [[nodiscard]] const LayerPrices& at(const LayerKey& key) const { return table_.at(key); }
  [[nodiscard]] std::size_t size() const { return table_.size(); }

 private:
  [[nodiscard]] LayerPrices price_layers(Plan) const;

  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  const WorkloadSpec& workload_;
  const Profile& profile_;
  Runtime runtime_;
  int threads_;
  std::map<LayerKey, LayerPrices> table_;
};

}  // namespace pleat
