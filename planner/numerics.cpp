// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/numerics.hpp"

namespace pleat {

void Numerics::put_into(Plan& plan) const {
  plan.precision = precision;
  plan.optimizer = optimizer;
  plan.fp8_attention = fp8_attention;
  plan.fp8_head = fp8_head;
  plan.fp8_dispatch = fp8_dispatch;
  plan.fp8_combine = fp8_combine;
  plan.fp8_params = fp8_params;
}

Numerics numerics_of(const Plan& plan) {
  Numerics numerics{plan.precision,    plan.optimizer,    plan.fp8_attention, plan.fp8_head,
                    plan.fp8_dispatch, plan.fp8_combine, plan.fp8_params};
  // Where the state lies is a memory choice.
  numerics.optimizer.state_offload = numerics.optimizer.cpu_offload = 0;
  numerics.optimizer.cpu_offload_overlapped = false;
  return numerics;
}

}  // namespace pleat
