// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/sample_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat {

ConsecutiveBytes::ConsecutiveBytes(std::vector<std::uint8_t> text, std::int64_t seq_len)
    : text_(std::move(text)), seq_len_(seq_len) {
  if (static_cast<std::int64_t>(text_.size()) >= seq_len_ + 2) return;
  throw_config_error(ExitCode::bad_file, "--data", "",
                     fmt::format("the text has {} bytes; one sample of sequence length {} and its "
                                 "last label need {}",
                                 text_.size(), seq_len_, seq_len_ + 2),
                     "a longer file, or a smaller --seq-len");
}

std::int64_t ConsecutiveBytes::size() const {
  return std::numeric_limits<std::int64_t>::max() / seq_len_;
}

std::int64_t ConsecutiveBytes::start(std::int64_t sample) const {
  return sample * seq_len_ % (static_cast<std::int64_t>(text_.size()) - seq_len_ - 1);
}

void ConsecutiveBytes::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  const auto from = text_.begin() + start(sample);
  std::copy(from, from + static_cast<std::ptrdiff_t>(tokens.size()), tokens.begin());
}

OrderedSamples::OrderedSamples(std::shared_ptr<const Documents> documents,
                               const OrderRequest& request)
    : documents_(std::move(documents)),
      seq_len_(request.seq_len),
      order_(documents_->lengths(), request, documents_->name()) {}

void OrderedSamples::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  PLEAT_ASSERT(static_cast<std::int64_t>(tokens.size()) == seq_len_ + 1);
  for (const Piece& p : order_.pieces(sample)) {
    documents_->read(p.document, p.offset, tokens.first(static_cast<std::size_t>(p.length)));
    tokens = tokens.subspan(static_cast<std::size_t>(p.length));
  }
}

BlendedSamples::BlendedSamples(std::vector<std::unique_ptr<const SampleSource>> parts,
                               std::span<const double> weights, std::int64_t samples)
    : parts_(std::move(parts)), order_(weights, samples) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (order_.counts()[i] <= parts_[i]->size()) continue;
    throw_config_error(
        ExitCode::bad_file, parts_[i]->name(), "",
        fmt::format("has {} samples; the blend takes {}", parts_[i]->size(), order_.counts()[i]),
        "weights, so that a dataset is repeated as often as needed, or a shorter run");
  }
}

void BlendedSamples::read(std::int64_t sample, std::span<std::int32_t> tokens) const {
  parts_[static_cast<std::size_t>(order_.part(sample))]->read(order_.sample_of_part(sample),
                                                              tokens);
}

std::string BlendedSamples::name() const {
  std::string text;
  for (const auto& part : parts_) text += (text.empty() ? "" : " and ") + part->name();
  return text;
}

namespace {

std::unique_ptr<const SampleSource> ordered(const std::shared_ptr<const Documents>& documents,
                                            const SampleRequest& r, std::int64_t samples) {
  const auto count = static_cast<std::int64_t>(documents->lengths().size());
  return std::make_unique<OrderedSamples>(
      documents, OrderRequest{documents_of(r.shares, r.split, count), r.seq_len, samples, r.seed});
}

}  // namespace

std::unique_ptr<const SampleSource> order_samples(const std::vector<WeightedDocuments>& list,
                                                  const SampleRequest& r) {
  PLEAT_ASSERT(!list.empty() && r.samples > 0);
  const bool weighted = list.front().weight > 0;
  if (list.size() == 1 && !weighted) return ordered(list.front().documents, r, r.samples);
  std::vector<std::unique_ptr<const SampleSource>> parts;
  std::vector<double> weights;
  std::int64_t samples = 0;
  if (weighted) {
    for (const WeightedDocuments& d : list) weights.push_back(d.weight);
    weights = normalized(weights);
    for (std::size_t i = 0; i < list.size(); ++i) {
      parts.push_back(ordered(list[i].documents, r, prepared_for(r.samples, weights[i])));
      samples += share_of(r.samples, weights[i]);
    }
  } else {
    for (const WeightedDocuments& d : list) {
      parts.push_back(ordered(d.documents, r, 0));
      weights.push_back(static_cast<double>(parts.back()->size()));
      samples += parts.back()->size();
    }
    if (samples < r.samples) {
      throw_config_error(
          ExitCode::bad_file, "--data", "",
          fmt::format("the datasets have {} samples of sequence length {}; the run takes {}",
                      samples, r.seq_len, r.samples),
          "weights, so that datasets are repeated as often as needed, or a shorter run");
    }
    samples = r.samples;
  }
  // Normalized once more: Megatron-LM does, and the last bit decides ties.
  weights = normalized(weights);
  return std::make_unique<BlendedSamples>(std::move(parts), weights, samples);
}

}  // namespace pleat
