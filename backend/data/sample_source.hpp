// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training samples by their number in the run. What a sample holds depends on the data, the seed,
// the sequence length and the number of samples that the run was opened for. It never depends on
// ranks, on microbatches or on where a run was resumed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/data/blend.hpp"
#include "backend/data/documents.hpp"
#include "backend/data/sample_order.hpp"

namespace pleat {

class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  // The number of tokens that are trained on; the labels are one token ahead.
  [[nodiscard]] virtual std::int64_t seq_len() const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  // Fills seq_len + 1 tokens. Several threads may read at the same time.
  virtual void read(std::int64_t sample, std::span<std::int32_t> tokens) const = 0;
  // Its name in messages.
  [[nodiscard]] virtual std::string name() const = 0;
};

// Consecutive pieces of a text whose tokens are its bytes. After the end it starts again.
class ConsecutiveBytes final : public SampleSource {
 public:
  // Throws ConfigError if the text is shorter than one sample and its last label.
  ConsecutiveBytes(std::vector<std::uint8_t> text, std::int64_t seq_len);

  [[nodiscard]] std::int64_t seq_len() const override { return seq_len_; }
  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] std::int64_t start(std::int64_t sample) const;  // its first byte
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override;
  [[nodiscard]] std::string name() const override { return "the text"; }

 private:
  std::vector<std::uint8_t> text_;
  std::int64_t seq_len_;
};

// One dataset in the order of GPTDataset.
class OrderedSamples final : public SampleSource {
 public:
  OrderedSamples(std::shared_ptr<const Documents>, const OrderRequest&);

  [[nodiscard]] std::int64_t seq_len() const override { return seq_len_; }
  [[nodiscard]] std::int64_t size() const override { return order_.size(); }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override;
  [[nodiscard]] std::string name() const override { return documents_->name(); }

  [[nodiscard]] const SampleOrder& order() const { return order_; }
  [[nodiscard]] const Documents& documents() const { return *documents_; }

 private:
  std::shared_ptr<const Documents> documents_;
  std::int64_t seq_len_;
  SampleOrder order_;
};

// Several datasets, mixed by weight.
class BlendedSamples final : public SampleSource {
 public:
  // Throws ConfigError (bad_file) if a dataset has fewer samples than the blend takes from it.
  BlendedSamples(std::vector<std::unique_ptr<const SampleSource>> parts,
                 std::span<const double> weights, std::int64_t samples);

  [[nodiscard]] std::int64_t seq_len() const override { return parts_.front()->seq_len(); }
  [[nodiscard]] std::int64_t size() const override { return order_.size(); }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override;
  [[nodiscard]] std::string name() const override;

  [[nodiscard]] const BlendOrder& order() const { return order_; }
  [[nodiscard]] const std::vector<std::unique_ptr<const SampleSource>>& parts() const {
    return parts_;
  }

 private:
  std::vector<std::unique_ptr<const SampleSource>> parts_;
  BlendOrder order_;
};

// What to take from a dataset or a blend: which share of it, and how many samples.
struct SampleRequest {
  SplitShares shares = {1, 0, 0};
  DataSplit split = DataSplit::train;
  std::int64_t seq_len = 0;
  std::int64_t samples = 0;  // at least so many; must be above 0
  std::uint32_t seed = 0;
};

struct WeightedDocuments {
  std::shared_ptr<const Documents> documents;
  double weight = 0;  // 0 for all datasets: each gives its samples of one epoch
};

// One source of samples for all datasets, in the order of Megatron-LM's
// BlendedMegatronDatasetBuilder. Throws ConfigError (bad_file) if there is too little data.
[[nodiscard]] std::unique_ptr<const SampleSource> order_samples(
    const std::vector<WeightedDocuments>&, const SampleRequest&);

}  // namespace pleat
