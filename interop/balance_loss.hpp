// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The losses that keep a router's experts busy alike, as a run of another program needs them. A
// model that names none would train without, and its experts would collapse.
#pragma once

#include <string>
#include <vector>

#include "core/spec/model.hpp"

namespace pleat::interop {

struct BalanceLoss {
  std::string kind;  // Megatron-LM's: aux_loss over a microbatch, seq_aux_loss within a sequence
  double factor = 0;
};

// The model's own; else, of a router with an expert bias, DeepSeek-V3's within sequences
// (arXiv:2412.19437 sections 2.1.2 and 4.2), and of others Switch Transformers' (arXiv:2101.03961
// section 2.2). One at least.
[[nodiscard]] inline std::vector<BalanceLoss> balance_losses(const MoeSpec& moe) {
  std::vector<BalanceLoss> list;
  if (moe.aux_loss > 0) list.push_back({"aux_loss", moe.aux_loss});
  if (moe.seq_aux_loss > 0) list.push_back({"seq_aux_loss", moe.seq_aux_loss});
  if (list.empty()) {
    list.push_back(moe.expert_bias ? BalanceLoss{"seq_aux_loss", 1e-4}
                                   : BalanceLoss{"aux_loss", 1e-2});
  }
  return list;
}

}  // namespace pleat::interop
