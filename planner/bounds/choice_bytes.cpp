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

// `way.layers` decoder layers, or all, and those that predict several tokens; of units of layers
// all inputs but the first are dropped, too.
ChunkSavings of_whole_layers(const std::vector<CountedSavings>& layers, const RecomputeWay& way) {
  ChunkSavings all, always;
  int decoders = 0;
  double most = 0;
  Seconds least;
  for (const CountedSavings& l : layers) {
    if (l.savings.whole == 0) continue;
    const Seconds again = beyond(l.savings.all_again, l.waits);
    double bytes = static_cast<double>(l.savings.all_saves);
    if (way.unit > 1) bytes = std::max(bytes, static_cast<double>(l.bound.saved));
    ChunkSavings& sum = l.predicts ? always : all;
    sum.bytes += bytes * l.count;
    sum.longer += again * l.count;
    if (l.predicts) continue;
    least = decoders == 0 ? again : std::min(least, again);
    most = std::max(most, bytes);
    decoders += l.count;
  }
  if (way.layers > 0 && way.layers < decoders) all = {most * way.layers, least * way.layers};
  return {all.bytes + always.bytes, all.longer + always.longer};
}

}  // namespace

ChunkTables::ChunkTables(const std::vector<LayerCounts>& kinds, const CountedLayers& counted,
                         const std::vector<LayerBound>& bounds,
                         const std::vector<LayerSavings>& savings, const ChoiceWays& ways)
    : numbered(bounds.size()) {
  for (const LayerCounts& counts : kinds) {
    std::vector<CountedSavings>& chunk = layers.emplace_back();
    double& bytes = saved.emplace_back();
    for (const auto& [i, count] : counts) {
      const bool predicts = counted.variants()[i].kind == LayerKind::mtp;
      chunk.push_back({i, savings[i], bounds[i], bounds[i].waits, count, predicts});
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

ChoiceBytes::ChoiceBytes(const ChunkTables& chunks, const ChoiceWays& ways)
    : chunks_(chunks),
      ways_(ways),
      layers_(chunks.numbered),
      kept_(chunks.kinds()),
      copies_(chunks.kinds()) {
  for (const auto& chunk : chunks.layers) {
    double whole = 0;
    for (const CountedSavings& l : chunk) {
      counted_.push_back({l.layer, static_cast<double>(l.count)});
      whole = std::max(whole, static_cast<double>(l.savings.whole));
      Layer& layer = layers_[l.layer];
      if (layer.savings != nullptr) continue;
      layer.savings = &l.savings;
      for (const auto* list : {&l.savings.saved, &l.savings.kept}) {
        for (const SavedBytes& b : *list) {
          const bool known = std::ranges::find(layer.sendable, b.offload, &Sendable::offload) !=
                             layer.sendable.end();
          if (b.offload != 0 && !known) layer.sendable.push_back({b.offload});
        }
      }
    }
    of_kind_.push_back({counted_.size(), whole});
  }
}

void ChoiceBytes::drop(Layer& layer, std::uint32_t parts) {
  layer.dropped = 0;
  for (Sendable& s : layer.sendable) s.bytes = 0;
  const auto may_send = [&](const SavedBytes& b) {
    if (b.offload == 0) return;
    std::ranges::find(layer.sendable, b.offload, &Sendable::offload)->bytes +=
        static_cast<double>(b.bytes);
  };
  for (const SavedBytes& b : layer.savings->saved) {
    if ((b.parts & parts) != 0) layer.dropped += static_cast<double>(b.bytes);
    else may_send(b);
  }
  for (const SavedBytes& b : layer.savings->kept) {
    if ((b.parts & parts) == 0) continue;
    layer.dropped -= static_cast<double>(b.bytes);
    may_send(b);
  }
}

void ChoiceBytes::set(const ChoiceWays::Choice& choice) {
  const RecomputeWay& again = ways_.recompute[choice.recompute];
  const OffloadWay& sent = ways_.offload[choice.offload];
  const bool other = choice.recompute != recompute_;
  recompute_ = choice.recompute;
  sent_layers_ = sent.layers;
  for (Layer& layer : layers_) {
    if (layer.savings == nullptr) continue;
    if (other) drop(layer, again.full ? 0 : again.parts);
    layer.sent = 0;
    for (const Sendable& s : layer.sendable) {
      if ((s.offload & sent.modules) != 0) layer.sent += s.bytes;
    }
  }
}

const std::vector<double>& ChoiceBytes::kept() {
  const Counted* counted = counted_.data();
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    double gone = chunks_.recomputed[recompute_ * kept_.size() + k].bytes;
    for (const Counted* const end = counted_.data() + of_kind_[k].end; counted != end; ++counted) {
      const Layer& layer = layers_[counted->layer];
      gone += (layer.dropped + layer.sent) * counted->count;
    }
    kept_[k] = std::max(0.0, chunks_.saved[k] - gone - of_kind_[k].whole * sent_layers_);
  }
  return kept_;
}

const std::vector<Seconds>& ChoiceBytes::copies() {
  const bool whole = ways_.recompute[recompute_].full;  // what runs again whole may not be sent
  const Counted* counted = counted_.data();
  for (std::size_t k = 0; k < copies_.size(); ++k) {
    Seconds copied;
    for (const Counted* const end = counted_.data() + of_kind_[k].end; counted != end; ++counted) {
      const Layer& layer = layers_[counted->layer];
      if (!whole) copied += layer.savings->copy_time(layer.sent) * 2 * counted->count;
    }
    copies_[k] = copied;
  }
  return copies_;
}

}  // namespace pleat
