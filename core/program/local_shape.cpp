// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The shapes of one rank's layer, and by how much the slowest rank's work exceeds the mean.
#include <algorithm>
#include <cmath>

#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

// Of normally distributed work, the largest of n ranks': sigma sqrt(2 ln n) above the mean. Ranks
// of an expert group wait for each other in every layer, the others at the end of the step.
double slowest_rank(const ModelSpec& m, const WorkloadSpec& w, const Plan& p, double variation) {
  const auto above = [](double sigma, double ranks) {
    return ranks > 1 ? 1.0 + sigma * std::sqrt(2.0 * std::log(ranks)) : 1.0;
  };
  const double sigma = variation / std::sqrt(static_cast<double>(p.micro_batch));
  const double together =
      m.moe ? std::clamp<double>(static_cast<double>(p.expert.ep) * p.expert.etp /
                                     (static_cast<double>(p.attention.tp) * p.attention.cp),
                                 1.0, p.attention.dp)
            : 1.0;
  const double microbatches =
      static_cast<double>(std::max<std::int64_t>(1, p.microbatches(w.global_batch)));
  return above(sigma, together) * above(sigma / std::sqrt(microbatches), p.attention.dp / together);
}

}  // namespace

LocalShape::LocalShape(const ModelSpec& m, const WorkloadSpec& w, const Plan& p)
    : model(m), plan(p), seq(w.seq_len), batch(p.micro_batch), tp(p.attention.tp),
      cp(p.attention.cp), ep(p.expert.ep), etp(p.expert.etp) {
  sp = tp > 1 && p.sequence_parallel;
  S = seq * batch / cp;
  T = sp ? S / tp : S;
  act = p.precision == Precision::fp32 ? DType::fp32 : DType::bf16;
  grad = p.optimizer.main_grads;
  residual = m.hidden * m.residual_streams;
  loss_scale = 1.0 / (static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len));
  if (m.moe) {
    slots = p.expert.slots(m.moe->experts);
    local_experts = p.expert.local(m.moe->experts);
  }
  if (m.moe && w.capacity_factor > 0) {  // mcore moe_utils.py get_capacity
    const double mean = static_cast<double>(T * m.moe->top_k) / static_cast<double>(m.moe->experts);
    capacity = static_cast<std::int64_t>(std::ceil(mean * w.capacity_factor));
    padded = w.pad_to_capacity;
  }
  global_batch = w.global_batch;
  if (w.documents.empty()) return;
  const Packing packing = packing_of(w, cp);
  packed = packing.mean_length;
  slowest = slowest_rank(m, w, p, packing.variation);
}

}  // namespace pleat
