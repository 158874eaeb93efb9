// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The tokens and labels that a data-parallel rank trains with in each microbatch.
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

// Microbatch m of rank d holds `micro_batch` samples of the step's global batch, from sample (m*dp
// + d)*micro_batch on. So the global batch is the same whatever dp and micro_batch are. Several
// threads may use one object.
class Batches {
 public:
  // The samples of step s begin at `first_sample` + s * global_batch. A token that is not below
  // `vocab` is a ConfigError (bad_file) when it is read.
  Batches(std::shared_ptr<const SampleSource>, const WorkloadSpec&, std::int64_t vocab, int dp,
          int micro_batch, const PackingRules& = {}, std::int64_t first_sample = 0);

  [[nodiscard]] const PackingRules& rules() const { return rules_; }

  // The number of sample i of a microbatch among all samples of the run.
  [[nodiscard]] std::int64_t sample(std::int64_t step, int microbatch, int dp_rank,
                                    std::int64_t i) const;

  // Fill out[micro_batch * seq_len]. A label is the token that comes next, or kIgnoredLabel where
  // the loss is masked.
  void tokens(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  void labels(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  // All tokens of the step's global batch over those whose label counts: the mean loss is taken
  // over these. 1 without masks; 0 if no label counts.
  [[nodiscard]] double loss_weight(std::int64_t step) const;
  // The place of each token in its sequence, or in its document if positions are reset.
  void positions(std::int64_t step, int microbatch, int dp_rank, std::span<std::int32_t> out) const;
  // For each token, where in its sample its document begins (document_starts).
  void document_starts(std::int64_t step, int microbatch, int dp_rank,
                       std::span<std::int32_t> out) const;

 private:
  // Calls `use` for each sample, with its seq_len + 1 tokens and its part of `out`.
  template <class Use>
  void each_sample(std::int64_t step, int microbatch, int dp_rank, Use use) const;

  void check(std::span<const std::int32_t> tokens, std::int64_t sample) const;
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const;

  std::shared_ptr<const SampleSource> source_;
  std::int64_t seq_len_, global_batch_, vocab_, first_sample_;
  int dp_, micro_batch_;
  PackingRules rules_;
  mutable std::mutex mutex_;  // protects the weight that was worked out last
  mutable std::int64_t weighed_step_ = -1;
  mutable double weight_ = 1;
};

}  // namespace pleat
