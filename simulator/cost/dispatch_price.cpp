// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The exchange of expert tokens by DeepEP and HybridEP: how many copies travel, and their time.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "simulator/cost/op_work.hpp"

namespace pleat {

int nearest_sms(const Profile& profile, DispatchKernel kernel, int tier, int sms) {
  int nearest = 0;
  for (const DispatchRate& r : profile.dispatch) {
    if (r.kernel != kernel || r.tier != tier) continue;
    if (nearest == 0 || std::abs(r.sms - sms) < std::abs(nearest - sms)) nearest = r.sms;
  }
  return nearest;
}

// Exchange of expert tokens by DeepEP and HybridEP, which send one copy to each destination rank
// (NVLink) or node (forwarded inside it), at measured logical rates (docs/MODEL.md section 6).

namespace {

constexpr Bytes kMeasuredRow{14336};      // 7168 elements of bf16
constexpr Seconds kExchangeFixed{20e-6};  // launch and notification, 15-25 us

struct Found {
  double rate = 0;
  SourceClass source = SourceClass::interpolated;
};

// Among the rates of one kernel on one tier, those with the number of SMs nearest to `sms`; between
// their rank counts linear in ln ranks, constant outside.
std::optional<Found> find_rate(const Profile& profile, DispatchKernel kernel, int tier, int ranks,
                               int sms, bool combine) {
  const int nearest = nearest_sms(profile, kernel, tier, sms);
  if (nearest == 0) return std::nullopt;
  const DispatchRate* below = nullptr;
  const DispatchRate* above = nullptr;
  for (const DispatchRate& r : profile.dispatch) {
    if (r.kernel != kernel || r.tier != tier || r.sms != nearest) continue;
    if (r.ranks <= ranks && (below == nullptr || r.ranks > below->ranks)) below = &r;
    if (r.ranks >= ranks && (above == nullptr || r.ranks < above->ranks)) above = &r;
  }
  if (below == nullptr) below = above;
  if (above == nullptr) above = below;
  auto rate = [&](const DispatchRate& r) { return (combine ? r.combine : r.dispatch).base(); };
  Found found{rate(*below), std::max(below->source, above->source)};
  const bool exact = below->ranks == ranks && nearest == sms;
  if (!exact) found.source = std::max(found.source, SourceClass::interpolated);
  if (below->ranks < above->ranks) {
    const double share = std::log(static_cast<double>(ranks) / below->ranks) /
                         std::log(static_cast<double>(above->ranks) / below->ranks);
    found.rate += share * (rate(*above) - rate(*below));
  }
  return found;
}

}  // namespace

std::optional<KernelPrice> dispatch_price(const DispatchWork& work, DispatchKernel kernel,
                                          const Profile& profile) {
  const int tier = work.nodes > 1 ? 1 : 0;
  const auto found = find_rate(profile, kernel, tier, work.ranks, work.sms, work.combine);
  if (!found) return std::nullopt;
  const double copies = tier == 1 ? work.node_copies : work.rank_copies;
  const Bytes extra = profile.exchange_row_overhead;
  const double rows = (work.row + extra) / work.row / ((kMeasuredRow + extra) / kMeasuredRow);
  return KernelPrice{kExchangeFixed + work.payload * (copies * rows) / BytesPerSecond(found->rate),
                     found->source};
}

// On how many ranks or nodes the experts of one token lie. Closed form for plain top-k; Megatron's
// group-limited routing (moe_utils.py: the groups with the largest sums of their top k/groups
// scores, then top-k inside) by a Monte Carlo of random scores, once per case.

namespace {

constexpr int kSampledTokens = 4000;  // standard error below 0.5% of the mean

struct Limits {
  std::int64_t experts, top_k, groups, top_groups;
  auto operator<=>(const Limits&) const = default;
};

// The experts of so many tokens, top_k each.
std::vector<std::int64_t> sample_picks(const Limits& s) {
  std::mt19937 random(20260822);
  std::uniform_real_distribution<float> score;
  const auto experts = static_cast<std::size_t>(s.experts);
  const auto per_group = static_cast<std::size_t>(s.experts / s.groups);
  const auto top_k = static_cast<std::size_t>(s.top_k);
  const std::size_t counted =
      std::max<std::size_t>(1, top_k / static_cast<std::size_t>(s.top_groups));
  std::vector<float> scores(experts), sorted(per_group), sums(static_cast<std::size_t>(s.groups));
  std::vector<std::size_t> order(sums.size());
  std::vector<std::int64_t> picks, all;
  all.reserve(kSampledTokens * top_k);
  for (int token = 0; token < kSampledTokens; ++token) {
    for (float& x : scores) x = score(random);
    for (std::size_t g = 0; g < sums.size(); ++g) {
      const auto first = scores.begin() + static_cast<std::ptrdiff_t>(g * per_group);
      std::partial_sort_copy(first, first + static_cast<std::ptrdiff_t>(per_group), sorted.begin(),
                             sorted.begin() + static_cast<std::ptrdiff_t>(counted),
                             std::greater<>());
      sums[g] = std::accumulate(sorted.begin(),
                                sorted.begin() + static_cast<std::ptrdiff_t>(counted), 0.0F);
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    picks.clear();
    for (std::size_t g = 0; g < static_cast<std::size_t>(s.top_groups); ++g) {
      for (std::size_t e = 0; e < per_group; ++e) {
        picks.push_back(static_cast<std::int64_t>(order[g] * per_group + e));
      }
    }
    const auto chosen = picks.begin() + static_cast<std::ptrdiff_t>(top_k);
    std::partial_sort(picks.begin(), chosen, picks.end(), [&](std::int64_t a, std::int64_t b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    all.insert(all.end(), picks.begin(), chosen);
  }
  return all;
}

// Mean number of units, each with an equal run of the experts, that a token's picks lie on.
double units_hit(const std::vector<std::int64_t>& picks, int units, const Limits& s) {
  std::vector<std::size_t> last(static_cast<std::size_t>(units));  // token that hit it
  const auto top_k = static_cast<std::size_t>(s.top_k);
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const std::size_t token = i / top_k + 1;
    std::size_t& unit = last[static_cast<std::size_t>(picks[i] * units / s.experts)];
    hits += unit != token;
    unit = token;
  }
  return static_cast<double>(hits) / kSampledTokens;
}

}  // namespace

double distinct_units(int units, std::int64_t experts, std::int64_t top_k) {
  if (units <= 1) return 1.0;
  // C(E - E/U, k) / C(E, k) as a product: the chance that no pick falls on one given unit.
  const double e = static_cast<double>(experts), own = e / units;
  double none = 1.0;
  for (std::int64_t i = 0; i < top_k; ++i) {
    const double left = e - static_cast<double>(i);
    none *= std::max(0.0, left - own) / left;
  }
  return units * (1.0 - none);
}

double distinct_units(int units, const OpAttributes& a) {
  const bool limited = a.groups > 1 && a.top_groups < a.groups && a.experts % a.groups == 0 &&
                       a.top_groups * (a.experts / a.groups) >= a.top_k;
  if (units <= 1 || !limited) return distinct_units(units, a.experts, a.top_k);
  static std::mutex mutex;
  static std::map<Limits, std::vector<std::int64_t>> picks;
  static std::map<std::pair<Limits, int>, double> known;
  const Limits limits{a.experts, a.top_k, a.groups, a.top_groups};
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known.try_emplace({limits, units});
  if (fresh) {
    const auto [sample, first] = picks.try_emplace(limits);
    if (first) sample->second = sample_picks(limits);
    found->second = units_hit(sample->second, units, limits);
  }
  return found->second;
}

}  // namespace pleat
