// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_library.hpp"

namespace pleat {

LayerMemo::LayerMemo(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                     const ClusterView& view, Runtime runtime)
    : plan_(plan),
      view_(view),
      runtime_(runtime),
      shape_(model, workload, plan_),
      rows_(model, workload, plan_) {}

// Threads that miss the same at once each work it out, and the first one's stays: others of this
// memo are not held up meanwhile.
template <class Map, class Make>
typename Map::mapped_type LayerMemo::get(Map& map, const typename Map::key_type& key,
                                         const Make& make) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = map.find(key);
    if (found != map.end()) return found->second;
  }
  typename Map::mapped_type made = make();
  const std::lock_guard lock(mutex_);
  return map.try_emplace(key, std::move(made)).first->second;
}

SharedLayer LayerMemo::program(const LayerVariant& variant, bool keep) {
  SharedLayer layer = get(programs_, variant, [&] {
    const LayerVariant plain = without_loads(variant);
    SharedLayer made = plain == variant ? SharedLayer(compile_layer(shape_, runtime_, variant))
                                        : program(plain, false);
    if (plain != variant) made.own().loads = loads_of(variant);
    const LayerWeights weights = count_weights(made);
    const std::lock_guard lock(mutex_);
    weights_.try_emplace(variant, weights);  // they are asked for when the program is forgotten
    return made;
  });
  if (!keep) return layer;
  const std::lock_guard lock(mutex_);
  kept_.insert(variant);
  programs_.try_emplace(variant, layer);  // where it was forgotten meanwhile
  return layer;
}

LayerCosts LayerMemo::costs(const LayerVariant& variant, int clock, const Profile& profile) {
  return get(costs_, {variant, clock}, [&] {
    const SharedLayer layer = program(variant, false);
    const Binding rows = rows_.of(layer);
    return price(layer, rows, rows, view_, profile);
  });
}

LayerWork LayerMemo::work(const LayerVariant& variant, int clock, const Profile& profile,
                          bool all) {
  return get(all ? work_ : compute_, {variant, clock}, [&] {
    const SharedLayer layer = program(variant, false);
    return (all ? work_of : compute_of)(layer, rows_.of(layer), view_, profile);
  });
}

LayerSavings LayerMemo::savings(const LayerVariant& variant, const Profile& profile) {
  return get(savings_, variant, [&] {
    const SharedLayer layer = program(variant, false);
    const Binding rows = rows_.of(layer);  // savings refer to it
    return savings_of(layer, runtime_, rows, view_, profile);
  });
}

LayerWeights LayerMemo::weights(const LayerVariant& variant) {
  return get(weights_, variant, [&] { return count_weights(program(variant, false)); });
}

void LayerMemo::forget(bool all) {
  const std::lock_guard lock(mutex_);
  std::erase_if(programs_,
                [&](const auto& entry) { return all || !kept_.contains(entry.first); });
  if (all) kept_.clear();
}

LayerLibrary::LayerLibrary(const Memos& memos, const ModelSpec& model, const WorkloadSpec& workload,
                           const Plan& plan, const ClusterView& view)
    : memos_(memos),
      delay_wgrad_(plan.overlap.delay_wgrad),
      view_(view),
      rows_(model, workload, plan) {}

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
    const SharedLayer f = memo_of(forward).program(forward, false);
    const SharedLayer b = memo_of(backward).program(backward, false);
    found->second =
        price_pair(f, b, {rows_.of(f), rows_.of(b)}, view_, profile, delay_wgrad_, alone);
  }
  return found->second;
}

LayerWork LayerLibrary::work(const LayerVariant& variant, int clock, const Profile& profile,
                             bool all) {
  return memo_of(variant).work(variant, clock, profile, all);
}

LayerSavings LayerLibrary::savings(const LayerVariant& variant, const Profile& profile) {
  return memo_of(variant).savings(variant, profile);
}

LayerWeights LayerLibrary::weights(const LayerVariant& variant) {
  return memo_of(variant).weights(variant);
}

void LayerLibrary::forget(bool all) {
  for (LayerMemo* memo : memos_) memo->forget(all);
}

}  // namespace pleat
