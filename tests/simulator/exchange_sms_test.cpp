// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// SMs of an exchange of expert tokens: a number that nobody measured is never better than those
// that somebody did.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/spec/catalog.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

struct Exchange {
  const char* cluster;
  Dispatcher dispatcher;
  int ep;
  int tier;  // 1: across domains
};

TEST(ExchangeSms, NoNumberIsFasterThanAllThatWereMeasured) {
  const std::vector<Exchange> exchanges{{"gb300-nvl72", Dispatcher::hybridep, 64, 0},
                                        {"h100-sxm", Dispatcher::deepep, 8, 0},
                                        {"h100-sxm", Dispatcher::deepep, 32, 1}};
  for (const Exchange& x : exchanges) {
    ModelSpec model = load_model("qwen3-30b-a3b").model;
    const ClusterSpec cluster = load_cluster(x.cluster);
    const Profile profile = load_profile(std::string(x.cluster) + "-megatron");
    WorkloadSpec workload;
    workload.seq_len = 4096;
    workload.global_batch = 256;
    const Estimator estimator(model, workload, cluster, profile, Runtime::megatron);
    Plan plan;
    plan.attention.dp = 64;
    plan.expert.ep = x.ep;
    plan.expert.edp = 64 / x.ep;
    plan.dispatcher = x.dispatcher;
    plan.overlap.expert_parallel = true;  // beside compute, which lacks the SMs
    const auto step = [&](int sms) {
      plan.dispatcher_sms = sms;
      return estimator(plan).step;
    };
    const DispatchKernel kernel = *traits_of(x.dispatcher).fused;
    Seconds least = step(0);
    for (const DispatchRate& r : profile.dispatch) {
      if (r.kernel == kernel && r.tier == x.tier) least = std::min(least, step(r.sms));
    }
    for (int sms = 1; sms <= 64; ++sms) {
      EXPECT_GE(step(sms), least) << x.cluster << " " << sms << " SMs, EP " << x.ep;
    }
  }
}

}  // namespace
}  // namespace pleat
