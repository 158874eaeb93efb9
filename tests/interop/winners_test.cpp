// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search for Megatron lists can be handed to Megatron-LM.
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/exported.hpp"
#include "planner/layout/layout_polish.hpp"
#include "planner/neighbours/neighbours.hpp"
#include "planner/search/search.hpp"

namespace pleat::interop {
namespace {

struct SearchCase {
  const char* model;
  const char* cluster;
  int gpus;
  std::int64_t seq_len, global_batch;
  void (*pin)(SearchConfig&);
};

void PrintTo(const SearchCase& c, std::ostream* out) { *out << c.model << " on " << c.gpus; }

class Winners : public testing::TestWithParam<SearchCase> {};

TEST_P(Winners, AreTakenByMegatron) {
  const SearchCase& c = GetParam();
  PlanDocument d;
  d.model_name = c.model;
  d.model = load_model(c.model).model;
  d.cluster = c.cluster;
  d.gpus = c.gpus;
  d.workload = {.seq_len = c.seq_len, .global_batch = c.global_batch};
  const ClusterSpec cluster = load_cluster(c.cluster);
  const Profile profile = load_profile(std::string(c.cluster) + "-megatron");
  SearchConfig config;
  config.gpus = c.gpus;
  config.top = 10;
  config.threads = 1;
  c.pin(config);
  SearchResult result = search({d.model, cluster, d.workload, profile}, config);
  polish_layouts({d.model, cluster, d.workload, profile}, config, result);
  try_neighbours({d.model, cluster, d.workload, profile}, config, result);
  ASSERT_FALSE(result.best.empty());
  for (const Candidate& best : result.best) {
    d.plan = best.plan;
    try {
      static_cast<void>(export_plan(Target::megatron, {d}, "plan"));
    } catch (const ConfigError& e) {
      ADD_FAILURE() << summary(d.plan) << ": " << e.diagnostics().front().message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Winners,
    testing::Values(SearchCase{"mixtral-8x7b", "h100-sxm", 16, 4096, 64,
                               [](SearchConfig& s) {
                                 s.pin<"tp">() = s.pin<"cp">() = 1;
                                 s.pin<"pp">() = {1, 2};
                               }},
                    // Little memory beside the optimizer's state.
                    SearchCase{"llama3.1-405b", "h100-sxm", 512, 32768, 512,
                               [](SearchConfig& s) { s.pin<"tp">() = s.pin<"pp">() = 8; }},
                    // A prediction layer beside the loss would be on the first of two ranks.
                    SearchCase{"deepseek-v3", "b300", 256, 4096, 1024,
                               [](SearchConfig& s) {
                                 s.pin<"tp">() = s.pin<"cp">() = 1;
                                 s.pin<"pp">() = 2;
                                 s.pin<"vpp">() = 16;
                               }},
                    // Biases of attention beside delayed gradients.
                    SearchCase{"qwen2-57b-a14b", "h100-sxm", 64, 4096, 256, [](SearchConfig& s) {
                                 s.pin<"tp">() = s.pin<"cp">() = 1;
                                 s.pin<"pp">() = 2;
                                 s.pin<"delay-wgrad">() = true;
                               }}));

}  // namespace
}  // namespace pleat::interop
