// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/losses.hpp"

namespace pleat {

bool has_router_losses(const ModelSpec& m) {
  return m.moe && (m.moe->aux_loss > 0 || m.moe->seq_aux_loss > 0 || m.moe->z_loss > 0);
}

std::int64_t loss_elements(const ModelSpec& m) {
  return has_router_losses(m) || m.mtp_layers > 0 ? std::int64_t{kLosses} : 1;
}

RouterLossFactors router_loss_factors(const MoeSpec& moe, std::int64_t micro_batch,
                                      std::int64_t global_batch, std::int64_t seq) {
  const auto n = static_cast<double>(micro_batch), all = static_cast<double>(global_batch);
  const auto s = static_cast<double>(seq);
  const double share = static_cast<double>(moe.experts) / static_cast<double>(moe.top_k);
  return {.aux = moe.aux_loss * share / (n * s * n * s) * n / all,
          .seq_aux = moe.seq_aux_loss * share / (s * s * all),
          .z = moe.z_loss / (all * s)};
}

}  // namespace pleat
