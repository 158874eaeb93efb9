// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expert_slots.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/spec/expert_load.hpp"

namespace pleat {
namespace {

// One of the copies of an expert, with its share of the expert's tokens.
struct Copy {
  int expert = 0;
  double load = 0;
};

// A copy more for the expert with most tokens a copy, as often as there is room; none has more
// copies than there are ranks. Busiest first.
std::vector<Copy> copies_by_load(std::span<const double> loads, int first_expert, int ranks,
                                 std::int64_t room) {
  std::vector<int> count(loads.size(), 1);
  for (auto used = static_cast<std::int64_t>(loads.size()); used < room; ++used) {
    std::size_t busiest = loads.size();
    for (std::size_t e = 0; e < loads.size(); ++e) {
      if (count[e] == ranks) continue;
      if (busiest == loads.size() || loads[e] / count[e] > loads[busiest] / count[busiest]) {
        busiest = e;
      }
    }
    PLEAT_ASSERT(busiest < loads.size());
    ++count[busiest];
  }
  std::vector<Copy> copies;
  copies.reserve(static_cast<std::size_t>(room));
  for (std::size_t e = 0; e < loads.size(); ++e) {
    for (int c = 0; c < count[e]; ++c) {
      copies.push_back({first_expert + static_cast<int>(e), loads[e] / count[e]});
    }
  }
  std::ranges::stable_sort(copies, std::ranges::greater{}, &Copy::load);
  return copies;
}

struct RankSlots {
  std::vector<Copy> copies;
  double load = 0;
  [[nodiscard]] bool has(int expert) const {
    return std::ranges::find(copies, expert, &Copy::expert) != copies.end();
  }
};

// Each to the rank with the fewest tokens that has room. Copies of an expert come to different
// ranks where these have room.
std::vector<RankSlots> dealt_out(const std::vector<Copy>& copies, int ranks, std::size_t each) {
  std::vector<RankSlots> all(static_cast<std::size_t>(ranks));
  for (const Copy& copy : copies) {
    RankSlots* best = nullptr;
    bool best_has_it = false;
    for (RankSlots& rank : all) {
      if (rank.copies.size() == each) continue;
      const bool has_it = rank.has(copy.expert);
      const bool better = best == nullptr || has_it < best_has_it ||
                          (has_it == best_has_it && rank.load < best->load);
      if (!better) continue;
      best = &rank;
      best_has_it = has_it;
    }
    best->copies.push_back(copy);
    best->load += copy.load;
  }
  return all;
}

// Exchanges a copy of the busiest rank for one of another rank, as long as the busier of the two is
// less busy then. The best exchange each time.
void even_out(std::vector<RankSlots>& all) {
  constexpr int kMostExchanges = 1000;
  for (int i = 0; i < kMostExchanges; ++i) {
    RankSlots& busiest = *std::ranges::max_element(all, {}, &RankSlots::load);
    double least = busiest.load * (1 - 1e-9);
    Copy *given = nullptr, *taken = nullptr;
    RankSlots* with = nullptr;
    for (RankSlots& other : all) {
      if (&other == &busiest) continue;
      for (Copy& mine : busiest.copies) {
        for (Copy& theirs : other.copies) {
          const double moved = mine.load - theirs.load;
          const double then = std::max(busiest.load - moved, other.load + moved);
          if (then >= least || other.has(mine.expert) || busiest.has(theirs.expert)) continue;
          least = then;
          given = &mine;
          taken = &theirs;
          with = &other;
        }
      }
    }
    if (with == nullptr) return;
    const double moved = given->load - taken->load;
    busiest.load -= moved;
    with->load += moved;
    std::swap(*given, *taken);
  }
}

// By EP and copies, of one workload and its model's experts: a search asks for them for every plan.
struct KnownImbalances {
  MoeSpec moe;
  WorkloadSpec workload;
  std::map<std::pair<int, int>, std::vector<double>> factors;
};
constexpr std::size_t kMostKnown = 8;

std::vector<double> compute_imbalances(const WorkloadSpec& w, const MoeSpec& moe,
                                       const ExpertMapping& mapping) {
  std::vector<double> factors;
  for (int i = 0; i < std::ssize(w.expert_loads); ++i) {
    factors.push_back(rank_imbalance(w, moe, i, mapping));
  }
  return factors;
}

}  // namespace

ExpertSlots::ExpertSlots(std::vector<int> expert_of_slot, std::int64_t experts)
    : expert_of_(std::move(expert_of_slot)), first_(static_cast<std::size_t>(experts) + 1, 0) {
  for (const int e : expert_of_) ++first_[static_cast<std::size_t>(e) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<int> next(first_.begin(), first_.end() - 1);
  slots_.resize(expert_of_.size());
  for (std::size_t slot = 0; slot < expert_of_.size(); ++slot) {
    const auto e = static_cast<std::size_t>(expert_of_[slot]);
    slots_[static_cast<std::size_t>(next[e]++)] = static_cast<int>(slot);
  }
}

std::span<const int> ExpertSlots::slots_of(std::int64_t expert) const {
  const auto e = static_cast<std::size_t>(expert);
  const auto begin = static_cast<std::size_t>(first_[e]);
  const auto end = static_cast<std::size_t>(first_[e + 1]);
  return std::span<const int>(slots_).subspan(begin, end - begin);
}

std::size_t ExpertSlots::most_copies() const {
  int most = 0;
  for (std::size_t e = 0; e + 1 < first_.size(); ++e) {
    most = std::max(most, first_[e + 1] - first_[e]);
  }
  return static_cast<std::size_t>(most);
}

std::int64_t placement_blocks(const MoeSpec& moe) {
  return moe.groups > 1 && moe.top_groups < moe.groups ? moe.groups : 1;
}

std::int64_t most_redundant(const MoeSpec& moe, const ExpertMapping& mapping) {
  return std::max<std::int64_t>(0, moe.experts / placement_blocks(moe) - moe.experts / mapping.ep);
}

ExpertSlots place_experts(std::span<const double> loads, const MoeSpec& moe,
                          const ExpertMapping& mapping) {
  const std::int64_t blocks = placement_blocks(moe), each = moe.experts / blocks;
  const std::int64_t local = mapping.local(moe.experts);
  const int ranks = static_cast<int>(mapping.ep / blocks);
  PLEAT_ASSERT(mapping.placement == ExpertPlacement::by_load && ranks > 0);
  std::vector<int> expert_of;
  expert_of.reserve(static_cast<std::size_t>(mapping.slots(moe.experts)));
  for (std::int64_t b = 0; b < blocks; ++b) {
    const int first = static_cast<int>(b * each);
    const auto of_block = loads.subspan(static_cast<std::size_t>(first),
                                        static_cast<std::size_t>(each));
    const std::vector<Copy> copies = copies_by_load(of_block, first, ranks, local * ranks);
    std::vector<RankSlots> placed = dealt_out(copies, ranks, static_cast<std::size_t>(local));
    even_out(placed);
    for (RankSlots& rank : placed) {
      std::ranges::sort(rank.copies, {}, &Copy::expert);
      for (const Copy& copy : rank.copies) expert_of.push_back(copy.expert);
    }
  }
  ExpertSlots placed(std::move(expert_of), moe.experts);
  if (mapping.redundant > 0) return placed;
  if (busiest_rank(placed, loads, mapping.ep) < busiest_rank(loads, mapping.ep)) return placed;
  std::vector<int> in_order(static_cast<std::size_t>(moe.experts));
  std::iota(in_order.begin(), in_order.end(), 0);
  return {std::move(in_order), moe.experts};
}

ExpertSlots slots_of_layer(const ModelSpec& model, const WorkloadSpec& workload,
                           const ExpertMapping& mapping, int layer) {
  if (mapping.placement == ExpertPlacement::in_order || !model.moe) return {};
  const int loads = loads_of_layer(workload, model, layer);
  if (loads < 0) {
    const std::vector<double> alike(static_cast<std::size_t>(model.moe->experts), 1.0);
    return place_experts(alike, *model.moe, mapping);
  }
  return place_experts(workload.expert_loads[static_cast<std::size_t>(loads)].of, *model.moe,
                       mapping);
}

double busiest_rank(const ExpertSlots& slots, std::span<const double> loads, int ranks,
                    double capacity) {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (total <= 0) return 1;
  const double most = capacity > 0 ? capacity * total / static_cast<double>(loads.size()) : total;
  const std::size_t local = slots.experts().size() / static_cast<std::size_t>(ranks);
  double busiest = 0;
  for (int r = 0; r < ranks; ++r) {
    double sum = 0;
    for (const int e : slots.experts().subspan(static_cast<std::size_t>(r) * local, local)) {
      const double load = std::min(loads[static_cast<std::size_t>(e)], most);
      sum += load / static_cast<double>(slots.slots_of(e).size());
    }
    busiest = std::max(busiest, sum);
  }
  return std::max(1.0, busiest * ranks / total);
}

double rank_imbalance(const WorkloadSpec& w, const MoeSpec& moe, int loads,
                      const ExpertMapping& mapping) {
  if (mapping.placement == ExpertPlacement::in_order || loads < 0) {
    return rank_imbalance(w, moe, loads, mapping.ep);
  }
  const std::vector<double>& of = w.expert_loads[static_cast<std::size_t>(loads)].of;
  return rank_imbalance(w, busiest_rank(place_experts(of, moe, mapping), of, mapping.ep,
                                        w.capacity_factor));
}

std::vector<double> rank_imbalances(const WorkloadSpec& w, const MoeSpec& moe,
                                    const ExpertMapping& mapping) {
  if (mapping.placement == ExpertPlacement::in_order) return compute_imbalances(w, moe, mapping);
  static std::shared_mutex mutex;
  static std::deque<KnownImbalances> known;
  const std::pair key{mapping.ep, mapping.redundant};
  const auto of_workload = [&] {
    return std::ranges::find_if(
        known, [&](const KnownImbalances& k) { return k.moe == moe && k.workload == w; });
  };
  {
    const std::shared_lock lock(mutex);
    if (const auto of = of_workload(); of != known.end()) {
      if (const auto found = of->factors.find(key); found != of->factors.end()) {
        return found->second;
      }
    }
  }
  std::vector<double> factors = compute_imbalances(w, moe, mapping);
  const std::unique_lock lock(mutex);
  if (of_workload() == known.end()) {
    known.push_front({moe, w, {}});
    if (known.size() > kMostKnown) known.pop_back();
  }
  of_workload()->factors.emplace(key, factors);
  return factors;
}

}  // namespace pleat
