// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which samples a data-parallel rank sees when, as tokens and labels.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/data/documents.hpp"
#include "backend/data/sample_source.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Microbatch m of rank d holds samples [(m*dp + d)*micro_batch, +micro_batch) of the step's global
// batch, so that the global batch is the same for every dp and micro_batch. Threads may share it.
class Batches {
 public:
  // Step s takes samples from `first_sample` + s * global_batch. Tokens from `vocab` on are refused
  // when they are read: ConfigError (bad_file).
  Batches(std::shared_ptr<const SampleSource>, const WorkloadSpec&, std::int64_t vocab, int dp,
          int micro_batch, const PackingRules& = {}, std::int64_t first_sample = 0);

  [[nodiscard]] const PackingRules& rules() const { return rules_; }

  // The global number of sample i of a microbatch.
  [[nodiscard]] std::int64_t sample(std::int64_t step, int microbatch, int dp_rank,
                                    std::int64_t i) const;

  // out[micro_batch * seq_len]; labels follow their tokens, kIgnoredLabel where the loss is masked.
  void tokens(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  void labels(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  // Tokens of the step's global batch for each one whose label counts: the mean loss is over those.
  // 1 without masks; 0 if none counts.
  [[nodiscard]] double loss_weight(std::int64_t step) const;
  // Places of the tokens in their sequence or document.
  void positions(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  // Of each token, the place in its sample where its document begins (document_starts).
  void document_starts(std::int64_t step, int microbatch, int dp_rank,
                       std::span<std::int32_t> out) const;

 private:
  // Calls `use` with seq_len + 1 tokens of each sample and its part of `out`.
  template <class Use>
  void each_sample(std::int64_t step, int microbatch, int dp_rank, Use use) const;

  void check(std::span<const std::int32_t> tokens, std::int64_t sample) const;
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const;

  std::shared_ptr<const SampleSource> source_;
  std::int64_t seq_len_, global_batch_, vocab_, first_sample_;
  int dp_, micro_batch_;
  PackingRules rules_;
  mutable std::mutex mutex_;  // of the weight that was worked out last
  mutable std::int64_t weighed_step_ = -1;
  mutable double weight_ = 1;
};

}  // namespace pleat
