// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job and rates with round numbers.
#pragma once

#include "planner/capacity/offers.hpp"

namespace pleat::test {

inline Rates round_rates() {
  RateSet set;
  const auto put = [&](Rate rate, double value) {
    set[static_cast<std::size_t>(rate)] = RateValue{value, "a test", "2026-01", false};
  };
  put(Rate::price, 2);
  put(Rate::booked_gpus, 8);
  put(Rate::gpu_mtbf, 50'000);
  put(Rate::mtbf_factor, 1.7);
  put(Rate::mtbf_factor_small, 3.6);
  put(Rate::small_job, 4096);
  put(Rate::restart, 10);
  put(Rate::repair, 48);
  put(Rate::replaced_share, 0.4);
  put(Rate::spare_target, 0.999);
  put(Rate::storage_per_gpu, 0.1);
  put(Rate::storage_limit, 2000);
  put(Rate::save_fixed, 2);
  put(Rate::background_saves, 1);
  put(Rate::host_memory_share, 0.5);
  put(Rate::server_power, 1.25);
  put(Rate::pue, 1.2);
  put(Rate::idle_power, 0.5);
  return Rates(set);
}

inline Job round_job(int gpus = 1024) {
  Job job;
  job.cluster = "round";
  job.gpus = gpus;
  job.plan.precision = Precision::bf16;
  job.step = Seconds(10);
  job.global_batch = 1000;
  job.step_tokens = 4'000'000;
  job.parameters = 100'000'000'000;
  job.host_link = BytesPerSecond(50e9);
  job.host_memory = Bytes(2048e9);
  job.gpu_power = Watts(700);
  return job;
}

inline Offer round_offer(const Job& job, double tokens, const Rates& rates = round_rates()) {
  Offer o;
  o.cluster = job.cluster;
  o.gpus = job.gpus;
  o.job = job;
  o.rates = rates;
  o.tokens = tokens;
  o.booking = book(job, rates, tokens);
  o.problem = o.booking.problem;
  return o;
}

}  // namespace pleat::test
