// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchange of expert tokens by DeepEP and HybridEP, which send one copy to each destination rank
// (NVLink) or node (forwarded inside it), at measured logical rates (docs/MODEL.md section 6).
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "simulator/cost/op_work.hpp"

namespace pleat {
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
  int nearest = 0;
  for (const DispatchRate& r : profile.dispatch) {
    if (r.kernel != kernel || r.tier != tier) continue;
    if (nearest == 0 || std::abs(r.sms - sms) < std::abs(nearest - sms)) nearest = r.sms;
  }
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
  const int usual =
      kernel == DispatchKernel::deepep ? profile.deepep_sms : profile.hybridep_sms;
  const int sms = work.sms > 0 ? work.sms : usual;
  const int tier = work.nodes > 1 ? 1 : 0;
  const auto found = find_rate(profile, kernel, tier, work.ranks, sms, work.combine);
  if (!found) return std::nullopt;
  const double copies = tier == 1 ? work.node_copies : work.rank_copies;
  const Bytes extra = profile.exchange_row_overhead;
  const double rows = (work.row + extra) / work.row / ((kMeasuredRow + extra) / kMeasuredRow);
  return KernelPrice{kExchangeFixed + work.payload * (copies * rows) / BytesPerSecond(found->rate),
                     found->source};
}

}  // namespace pleat
