// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the libraries of a GPU do not have is chosen by no search, and a pin is refused with the
// reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "application/request/gpu_formats.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "core/spec/catalog.hpp"
#include "planner/space/dispatcher_choices.hpp"

namespace pleat {
namespace {

Target target_on(const std::string& cluster) {
  Target t;
  t.model = load_model("mixtral-8x7b").model;
  t.cluster = load_cluster(cluster);
  t.runtime = Runtime::megatron;
  t.gpus = 64;
  return t;
}

std::string refusal(const auto& ask) {
  try {
    ask();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "";
}

TEST(GpuSoftware, FormatsThatASearchMayChoose) {
  const auto formats = [](const char* cluster) {
    return supported_precisions(load_cluster(cluster));
  };
  using enum Precision;
  EXPECT_EQ(formats("mi300x"), (std::vector{bf16, fp8}));
  EXPECT_EQ(formats("mi355x"), (std::vector{bf16, fp8, mxfp8}));
  EXPECT_EQ(formats("rtx-pro-6000"), (std::vector{bf16, fp8}));
  EXPECT_EQ(formats("l40s"), (std::vector{bf16, fp8}));
  EXPECT_EQ(formats("h20-sxm"), formats("h100-sxm"));
}

TEST(GpuSoftware, DispatchersThatASearchMayChoose) {
  const ModelSpec model = load_model("mixtral-8x7b").model;
  for (const char* without : {"mi300x", "mi325x", "mi355x", "l40s", "rtx-pro-6000"}) {
    const ClusterSpec cluster = load_cluster(without);
    EXPECT_FALSE(has_dispatcher(cluster, Dispatcher::deepep)) << without;
    EXPECT_FALSE(has_dispatcher(cluster, Dispatcher::hybridep)) << without;
    EXPECT_EQ(dispatcher_for(model, cluster), Dispatcher::alltoall) << without;
  }
  EXPECT_EQ(dispatcher_for(model, load_cluster("h20-sxm")), Dispatcher::deepep);
  ClusterSpec ours = load_cluster("h100-sxm");
  ours.software.facts[static_cast<std::size_t>(Software::deepep)].there = false;
  EXPECT_EQ(dispatcher_for(model, ours), Dispatcher::hybridep);
}

TEST(GpuSoftware, APinIsRefusedWithTheReason) {
  Target t = target_on("rtx-pro-6000");
  EXPECT_EQ(refusal([&] { require_dispatcher(t, Dispatcher::deepep, "--dispatcher"); }),
            "error: --dispatcher: rtx-pro-6000 has no deepep: DeepEP's kernels for training need "
            "NVLink (deepseek-ai/DeepEP issue 216), which the board does not have\n  hint: "
            "alltoall or allgather; --accept-mismatch prices it all the same");
  EXPECT_EQ(refusal([&] { require_format(t, Precision::mxfp8, "--precision"); }),
            "error: --precision: rtx-pro-6000 has no mxfp8: TransformerEngine refuses it on "
            "compute capability 12.0 (NVIDIA/TransformerEngine pull requests 1939 and 3195; "
            "NVIDIA/Megatron-LM issue 4175)\n  hint: bf16, fp8; --accept-mismatch prices it all "
            "the same");
  Plan plan;
  plan.precision = Precision::nvfp4;
  EXPECT_NE(refusal([&] { require_software(t, plan, "plan.json"); }), "");
  plan.precision = Precision::fp8;
  plan.dispatcher = Dispatcher::deepep;
  EXPECT_NE(refusal([&] { require_software(t, plan, "plan.json"); }), "");
  t.accept_mismatch = true;
  EXPECT_EQ(refusal([&] { require_software(t, plan, "plan.json"); }), "");
  t.accept_mismatch = false;
  t.runtime = Runtime::pleat;
  EXPECT_EQ(refusal([&] { require_software(t, plan, "plan.json"); }), "");
}

}  // namespace
}  // namespace pleat
