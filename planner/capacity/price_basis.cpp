// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/price_basis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pleat {
namespace {

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

}  // namespace

PriceBasis price_basis(const std::vector<Offer>& offers) {
  PriceBasis all;
  for (const Offer& o : offers) {
    const auto& price = o.rates.find(Rate::price);
    if (!price) continue;
    if (price->basis.empty()) {
      add_once(all.given, o.cluster);
      continue;
    }
    add_once(all.bases, price->basis);
    if (price->assumption) add_once(all.assumed, o.cluster);
    if (price->as_of.empty()) continue;
    if (all.oldest.empty() || price->as_of < all.oldest) all.oldest = price->as_of;
    if (price->as_of > all.newest) all.newest = price->as_of;
  }
  return all;
}

std::string price_basis_text(const PriceBasis& b) {
  std::string text;
  if (!b.bases.empty()) {
    text = fmt::format("prices {}", fmt::join(b.bases, " and "));
    if (!b.oldest.empty()) {
      text += b.oldest == b.newest ? fmt::format(" as of {}", b.oldest)
                                   : fmt::format(" as of {} to {}", b.oldest, b.newest);
    }
    if (b.bases.size() > 1) text += ", which are not alike";
  }
  const auto add = [&](const char* what, const std::vector<std::string>& clusters) {
    if (clusters.empty()) return;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, fmt::join(clusters, ", "));
  };
  add("assumed", b.assumed);
  add("as given", b.given);
  return text;
}

}  // namespace pleat
