// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/sequences.hpp"

#include "backend/context_shard.hpp"
#include "backend/execute/execution.hpp"

namespace pleat::execute {

std::vector<std::int32_t> document_starts(const OpSite& site, const Execution& run) {
  const WorkloadSpec& w = run.program.workload;
  if (run.batches->rules().reset_attention) {  // the documents of the data
    std::vector<std::int32_t> starts(
        static_cast<std::size_t>(run.program.plan.micro_batch * w.seq_len));
    run.batches->document_starts(run.step.number, site.microbatch.value, run.ranks.attention().dp,
                                 starts);
    return starts;
  }
  if (w.documents.empty()) return {};
  const std::int64_t batch = run.program.plan.micro_batch, dp = run.program.plan.attention.dp;
  const std::int64_t first = run.step.number * w.global_batch +
                             (site.microbatch.value * dp + run.ranks.attention().dp) * batch;
  std::vector<std::int32_t> starts(static_cast<std::size_t>(batch * w.seq_len));
  for (std::int64_t b = 0; b < batch; ++b) {
    packed_documents(w.documents, first + b,
                     std::span(starts).subspan(static_cast<std::size_t>(b * w.seq_len),
                                               static_cast<std::size_t>(w.seq_len)));
  }
  return starts;
}

std::vector<std::int32_t> token_positions(const OpSite& site, const Execution& run) {
  const std::int64_t ranks = run.program.plan.attention.cp, seq = run.program.workload.seq_len;
  const bool of_data = run.batches->rules().reset_positions;
  if (ranks == 1 && run.program.workload.documents.empty() && !of_data) return {};
  const std::int64_t batch = run.program.plan.micro_batch;
  std::vector<std::int32_t> whole(static_cast<std::size_t>(batch * seq));
  if (of_data) {
    run.batches->positions(run.step.number, site.microbatch.value, run.ranks.attention().dp, whole);
  } else {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % seq);
    }
  }
  if (!of_data && !run.batches->rules().reset_attention &&
      !run.program.workload.documents.empty()) {
    const std::vector<std::int32_t> starts = document_starts(site, run);
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] -= starts[i];
  }
  const std::vector<std::int32_t> own =
      positions({.seq = seq, .ranks = ranks, .first = run.ranks.attention().cp, .count = 1});
  std::vector<std::int32_t> places;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (const std::int32_t p : own) places.push_back(whole[static_cast<std::size_t>(b * seq + p)]);
  }
  return places;
}

std::vector<std::int32_t> own_tokens(const Call& c, const Execution& run) {
  const std::int64_t seq = c.op.attr.seq;
  const std::vector<std::int32_t> own = positions({.seq = seq,
                                                   .ranks = run.program.plan.attention.cp,
                                                   .first = run.ranks.attention().cp,
                                                   .count = 1});
  std::vector<std::int32_t> all;
  for (std::int64_t b = 0; b < c.op.attr.batch; ++b) {
    for (const std::int32_t p : own) all.push_back(static_cast<std::int32_t>(b * seq) + p);
  }
  return all;
}

}  // namespace pleat::execute
