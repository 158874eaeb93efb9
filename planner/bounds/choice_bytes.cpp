// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/choice_bytes.hpp"

#include <algorithm>

namespace pleat {
namespace {

Seconds beyond(Seconds time, Seconds waits) { return std::max(Seconds(0), time - waits); }

Seconds longer_by_modules(const std::vector<CountedSavings>& layers, std::uint32_t parts) {
  Seconds longer;
  for (const CountedSavings& l : layers) {
    Seconds again;
    for (std::size_t part = 0; part < kSavingParts; ++part) {
      if ((parts >> part & 1U) != 0) again += l.savings.again[part];
    }
    longer += beyond(again, l.waits) * l.count;
  }
  return longer;
}

// `way.layers` layers, or all; of units of layers all inputs but the first are dropped, too.
ChunkSavings of_whole_layers(const std::vector<CountedSavings>& layers, const RecomputeWay& way) {
  ChunkSavings sum;
  int decoders = 0;
  double most = 0;
  Seconds least;
  for (const CountedSavings& l : layers) {
    if (l.savings.whole == 0) continue;
    const Seconds again = beyond(l.savings.all_again, l.waits);
    double bytes = static_cast<double>(l.savings.all_saves);
    if (way.unit > 1) bytes = std::max(bytes, static_cast<double>(l.bound.saved));
    least = decoders == 0 ? again : std::min(least, again);
    most = std::max(most, bytes);
    decoders += l.count;
    sum.bytes += bytes * l.count;
    sum.longer += again * l.count;
  }
  if (way.layers > 0 && way.layers < decoders) return {most * way.layers, least * way.layers};
  return sum;
}

}  // namespace

ChunkTables::ChunkTables(const std::vector<LayerCounts>& kinds,
                         const std::vector<LayerBound>& bounds,
                         const std::vector<LayerSavings>& savings, const ChoiceWays& ways)
    : numbered(bounds.size()) {
  for (const LayerCounts& counts : kinds) {
    std::vector<CountedSavings>& chunk = layers.emplace_back();
    double& bytes = saved.emplace_back();
    for (const auto& [i, count] : counts) {
      chunk.push_back({i, savings[i], bounds[i], bounds[i].waits, count});
      bytes += static_cast<double>(bounds[i].saved) * count;
    }
  }
  for (const RecomputeWay& way : ways.recompute) {
    for (const auto& chunk : layers) {
      recomputed.push_back(way.full ? of_whole_layers(chunk, way)
                                    : ChunkSavings{0, longer_by_modules(chunk, way.parts)});
    }
  }
}

ChoiceBytes::LeftOfLayer ChoiceBytes::left_of(const LayerSavings& savings, std::uint32_t parts) {
  LeftOfLayer left;
  for (const SavedBytes& b : savings.saved) {
    if ((b.parts & parts) != 0) left.dropped += static_cast<double>(b.bytes);
    else if (b.offload != 0) left.maybe.push_back(b);
  }
  for (const SavedBytes& b : savings.kept) {
    if ((b.parts & parts) == 0) continue;
    left.dropped -= static_cast<double>(b.bytes);
    if (b.offload != 0) left.maybe.push_back(b);
  }
  return left;
}

void ChoiceBytes::set(const ChoiceWays::Choice& choice) {
  const RecomputeWay& again = ways_.recompute[choice.recompute];
  if (choice.recompute != recompute_) drop(again);
  recompute_ = choice.recompute;
  const OffloadWay& sent = ways_.offload[choice.offload];
  for (const auto& chunk : chunks_.layers) {
    for (const CountedSavings& l : chunk) {
      double& bytes = sent_[l.layer] = 0;
      for (const SavedBytes& b : left_[l.layer].maybe) {
        if ((b.offload & sent.modules) != 0) bytes += static_cast<double>(b.bytes);
      }
    }
  }
  for (std::size_t k = 0; k < kept.size(); ++k) {
    double gone = chunks_.recomputed[choice.recompute * kept.size() + k].bytes, whole = 0;
    Seconds copied;
    for (const CountedSavings& l : chunks_.layers[k]) {
      gone += (left_[l.layer].dropped + sent_[l.layer]) * l.count;
      whole = std::max(whole, static_cast<double>(l.savings.whole));
      // What is recomputed as a whole may not be sent.
      if (!again.full) copied += l.savings.copy_time(sent_[l.layer]) * (2 * l.count);
    }
    kept[k] = std::max(0.0, chunks_.saved[k] - gone - whole * sent.layers);
    copies[k] = copied;
  }
}

void ChoiceBytes::drop(const RecomputeWay& again) {
  for (const auto& chunk : chunks_.layers) {
    for (const CountedSavings& l : chunk) {
      left_[l.layer] = left_of(l.savings, again.full ? 0 : again.parts);
    }
  }
}

}  // namespace pleat
