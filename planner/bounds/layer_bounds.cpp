// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/layer_bounds.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// A layer is frequent that occurs this share as often as the most frequent one. So many of these,
// and of all layers, at most: bounds price a pair for every two of them.
constexpr std::int64_t kOften = 8;
constexpr std::size_t kMostFrequent = 3, kMostPaired = 4;

// The compute time of a pass, which is the same in a pair.
Seconds busy_compute(const PassCost& pass) {
  Seconds sum;
  for (const CostClass cls : {CostClass::gemm, CostClass::grouped_gemm, CostClass::attention,
                              CostClass::memory_bound}) {
    sum += pass.parts[static_cast<std::size_t>(cls)];
  }
  return sum;
}

Seconds matrix_time(const PassCost& pass) {
  return busy_compute(pass) - pass.parts[static_cast<std::size_t>(CostClass::memory_bound)];
}

// A backward pass may be cheaper in halves, because each launches only its own kernels.
Seconds least_backward(const LayerCosts& c, bool splits) {
  return splits ? std::min(c.backward.time, c.input.time + c.weight.time) : c.backward.time;
}

// Shares the time of pairs among their two passes. Each pass gets a time u such that the pass alone
// takes at least u, and every pair takes at least the sum of its two u. `pairs`: by the places of
// two layers in `priced`; for pairs with other layers the compute time is taken.
void share_pairs(const CountedLayers& layers, const std::vector<std::size_t>& priced,
                 const std::vector<LayerCosts>& costs, bool splits,
                 const std::vector<Seconds>& pairs, std::vector<LayerBound>& bounds) {
  struct Share {
    std::size_t layer;
    Seconds forward, backward;
  };
  const std::vector<LayerVariant>& variants = layers.variants();
  std::vector<Share> shares;
  const auto place_of = [&](std::size_t layer) {
    return static_cast<std::size_t>(std::ranges::find(priced, layer) - priced.begin());
  };
  const auto least = [&](std::size_t f, std::size_t b) {
    const std::size_t forward = place_of(f), backward = place_of(b);
    return forward < priced.size() && backward < priced.size()
               ? pairs[forward * priced.size() + backward]
               : busy_compute(costs[f].forward) + busy_compute(costs[b].backward);
  };
  Seconds most_waits;  // of a forward pass, which recompute beside it may fill
  const auto take = [&](std::size_t i) {
    Seconds forward = costs[i].forward.time, backward = least_backward(costs[i], splits);
    for (const Share& s : shares) {
      forward = std::min(forward, least(i, s.layer) - s.backward);
      backward = std::min(backward, least(s.layer, i) - s.forward);
    }
    const Seconds over = std::max(Seconds(0), forward + backward - least(i, i));
    if (shares.empty() && over > Seconds(0)) {
      forward -= over * (forward / (forward + backward));
    }
    backward = std::min(backward, least(i, i) - forward);
    shares.push_back({i, forward, backward});
    bounds[i].time[0] = forward;
    bounds[i].time[1] = backward;
    most_waits = std::max(most_waits, forward - busy_compute(costs[i].forward));
    bounds[i].alone[0] = costs[i].forward.time - forward;
    bounds[i].alone[1] = costs[i].backward.time - backward;
  };
  for (const std::size_t i : priced) take(i);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (place_of(i) == priced.size() && is_decoder(variants[i])) take(i);
  }
  for (const Share& s : shares) {
    LayerBound& b = bounds[s.layer];
    const Seconds own = b.time[1] - busy_compute(costs[s.layer].backward);
    b.waits = std::max(Seconds(0), own + std::max(most_waits, b.alone[1]));
  }
}

}  // namespace

bool is_decoder(const LayerVariant& v) {
  return v.kind == LayerKind::dense || v.kind == LayerKind::moe;
}

CountedLayers::CountedLayers(const ModelSpec& model, const WorkloadSpec& workload) {
  for (std::int64_t l = 0; l < model.layers; ++l) add(decoder_variant(model, workload, l));
  finish(model, workload);
}

CountedLayers::CountedLayers(const ModelSpec& model, const WorkloadSpec& workload,
                             const std::vector<StageComposition>& stages) {
  for (const StageComposition& stage : stages) {
    for (const auto& chunk : stage.chunks) {
      for (const PlacedLayer& placed : chunk) {
        const LayerVariant& v = stage.variants[static_cast<std::size_t>(placed.variant)];
        if (is_decoder(v)) add(v);
      }
    }
  }
  finish(model, workload);
}

void CountedLayers::add(const LayerVariant& v) {
  const int known = index_of(v);
  if (known >= 0) {
    ++occur_[static_cast<std::size_t>(known)];
    return;
  }
  variants_.push_back(v);
  occur_.push_back(1);
}

void CountedLayers::finish(const ModelSpec& model, const WorkloadSpec& workload) {
  most_frequent_ =
      static_cast<std::size_t>(std::ranges::max_element(occur_) - occur_.begin());
  const std::int64_t most = occur_[most_frequent_];
  for (std::size_t i = 0; i < occur_.size(); ++i) {
    if (occur_[i] * kOften >= most) frequent_.push_back(i);
  }
  std::ranges::stable_sort(frequent_, std::ranges::greater{},
                           [&](std::size_t i) { return occur_[i]; });
  if (frequent_.size() > kMostFrequent) frequent_.resize(kMostFrequent);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < occur_.size(); ++i) {
    if (std::ranges::find(frequent_, i) == frequent_.end()) rest.push_back(i);
  }
  std::ranges::stable_sort(rest, std::ranges::greater{}, [&](std::size_t i) { return occur_[i]; });
  rest.resize(std::min(rest.size(), kMostPaired - frequent_.size()));
  paired_ = frequent_;
  paired_.insert(paired_.end(), rest.begin(), rest.end());
  const bool mtp = model.mtp_layers > 0;
  for (std::int64_t d = 0; d < model.mtp_layers; ++d) {
    const LayerVariant depth = prediction_variant(model, workload, d);
    LayerVariant inner{depth.moe ? LayerKind::moe : LayerKind::dense};
    inner.traits = model.mtp_traits;
    inner.loads = depth.loads;
    add(inner);
    mtp_inner_.push_back(static_cast<std::size_t>(index_of(inner)));
    add(depth);
  }
  variants_.push_back({LayerKind::embedding});
  variants_.push_back({LayerKind::head, false, mtp});
  for (const LayerKind kind : {LayerKind::recv, LayerKind::send}) {
    variants_.push_back({kind, false, false});
    if (mtp) variants_.push_back({kind, false, true});
  }
}

std::size_t CountedLayers::stand_in(std::size_t layer) const {
  const LayerVariant& v = variants_[layer];
  return v.kind == LayerKind::mtp ? mtp_inner_[static_cast<std::size_t>(v.depth)] : layer;
}

int CountedLayers::index_of(const LayerVariant& v) const {
  const auto found = std::ranges::find(variants_, v);
  return found == variants_.end() ? -1 : static_cast<int>(found - variants_.begin());
}

std::vector<LayerBound> bound_layers(const CountedLayers& layers, LayerLibrary& library,
                                     const PassKinds& passes, BoundScope scope, int clock,
                                     const Profile& profile) {
  const std::vector<LayerVariant>& variants = layers.variants();
  const bool exact = scope == BoundScope::setting || scope == BoundScope::pairs;
  std::vector<LayerBound> bounds(variants.size());
  std::vector<LayerCosts> costs(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (layers.stand_in(i) != i) continue;
    LayerBound& bound = bounds[i];
    if (exact) {
      costs[i] = library.costs(variants[i], clock, profile);
      bound.time[0] = costs[i].forward.time;
      bound.time[1] = least_backward(costs[i], passes.split);
      bound.alone[1] = costs[i].backward.time - bound.time[1];
      bound.waits = costs[i].backward.time - busy_compute(costs[i].backward);
      bound.half[0] = costs[i].input.time;
      bound.half[1] = costs[i].weight.time;
      bound.matrix = matrix_time(costs[i].forward) + matrix_time(costs[i].backward);
      bound.saved = costs[i].forward.memory.net;
      bound.beside = costs[i].backward.memory.peak;
      bound.weights = library.weights(variants[i]);
      continue;
    }
    const LayerWork work = library.work(variants[i], clock, profile, scope == BoundScope::family);
    bound.matrix = work.matrix;
    for (int p = 0; p < 2; ++p) {
      bound.time[p] = scope == BoundScope::mesh ? work.compute[p] : work.in_order[p];
      if (scope == BoundScope::family) {
        bound.exchanges[p] = work.exchanges[p];
        bound.copies[p] = work.copies[p];
      }
      bound.half[p] = work.halves[p];
    }
    if (scope == BoundScope::family) bound.waits = work.in_order[1] - work.busy[1];
    bound.saved = work.saved;
    bound.beside = work.beside;
    bound.weights = library.least_weights(variants[i]);
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].kind != LayerKind::send) continue;
    bounds[i].send = library.work(variants[i], clock, profile, scope == BoundScope::family).send;
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {  // passes alone first
    if (layers.stand_in(i) != i) bounds[i] = bounds[layers.stand_in(i)];
  }
  if (exact && passes.paired) {
    const std::vector<std::size_t>& priced = layers.paired(scope);
    std::vector<Seconds> pairs;
    for (const std::size_t f : priced) {
      for (const std::size_t b : priced) {
        pairs.push_back(library.pair(variants[f], variants[b], clock, profile).time);
      }
    }
    share_pairs(layers, priced, costs, passes.split, pairs, bounds);
  }
  return bounds;
}

Seconds host_time(const LayerVariant& variant, CudaGraph graph, const Profile& profile) {
  const auto mode = static_cast<std::size_t>(graph);
  const double layers = 1.0 + static_cast<double>(variant.more.size());
  const bool moe = std::ranges::any_of(variant.more, &UnitLayer::moe);
  switch (variant.kind) {
    case LayerKind::moe:
    case LayerKind::mtp: return profile.host_per_moe_layer.at(mode) * layers;
    case LayerKind::dense:
      return (moe ? profile.host_per_moe_layer : profile.host_per_dense_layer).at(mode) * layers;
    case LayerKind::head: return profile.host_per_head;
    case LayerKind::embedding:
    case LayerKind::recv:
    case LayerKind::send: return Seconds(0);
  }
  return Seconds(0);
}

}  // namespace pleat
