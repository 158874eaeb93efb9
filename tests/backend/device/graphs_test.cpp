// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Graphs of a device that repeats what it was given to the letter: the same bits as without them,
// so nothing that changes from step to step is in one.
#include "backend/runtime/graph_cache.hpp"

#include <map>
#include <set>

#include "tests/backend/device/checking_device.hpp"
#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/queue_cases.hpp"
#include "tests/backend/device/same_results.hpp"

namespace pleat::test {
namespace {

constexpr int kSteps = 5;

class InGraphs : public testing::TestWithParam<GraphCase> {};

TEST_P(InGraphs, TrainsWithTheSameBits) {
  const DeviceCase& c = GetParam().of;
  Plan plan = c.plan;
  plan.cuda_graph = GetParam().scope;
  TrainConfig config = small_config(kSteps);
  config.poison = config.measure_margin = false;  // which both reach into what waits
  config.captures_graphs = true;
  skew(config);
  const TrainResult here = run(c.model, plan, config, c.workload);
  config.make_device = [](Rank) {
    return std::make_unique<CheckingDevice>(CheckingDevice::Options{.streams = GetParam().streams});
  };
  auto& graphs = CheckingDevice::graphs();
  graphs.captured = graphs.launched = 0;
  expect_same(run(c.model, plan, config, c.workload), here);
  EXPECT_GT(graphs.captured, 0);
  EXPECT_GE(graphs.launched, 2 * graphs.captured);  // memory repeats
}

INSTANTIATE_TEST_SUITE_P(Runs, InGraphs, testing::ValuesIn(graph_cases()), [](const auto& info) {
  return info.param.name();
});

// Operations of the last step that no call was made for: a graph ran in their place.
std::set<std::string> replayed(const ModelSpec& model, CudaGraph scope,
                               const WorkloadSpec& workload = small_workload()) {
  Plan plan = fp32_plan();
  plan.cuda_graph = scope;
  auto& graphs = CheckingDevice::graphs();
  graphs.captured = graphs.launched = 0;
  TrainConfig config = small_config(kSteps);
  config.poison = config.measure_margin = false;
  config.captures_graphs = true;
  config.make_device = checking_device;
  std::map<std::string, int> given, called;
  config.before_op = [&](Rank, const Op& op, int step) {
    if (step == kSteps - 1) ++given[op.name];
  };
  config.after_op = [&](Rank, const Op& op, std::span<const View>) {
    if (!given.empty()) ++called[op.name];
  };
  run(model, plan, config, workload);
  std::set<std::string> names;
  for (const auto& [name, times] : given) {
    if (called[name] == 0) names.insert(name);
    EXPECT_TRUE(called[name] == 0 || called[name] == times) << name;  // in all layers or in none
  }
  return names;
}

TEST(Graph, OfAttentionHoldsThatHalfOfALayer) {
  const std::set<std::string> grouped{
      "attn_norm", "qkv", "rope", "attn", "attn_proj", "attn_residual", "attn_proj.dgrad",
      "attn_proj.wgrad", "attn.bwd", "rope.bwd", "qkv.dgrad", "qkv.wgrad", "attn_norm.bwd"};
  EXPECT_EQ(replayed(small_moe(), CudaGraph::attention), grouped);
  EXPECT_EQ(replayed(dense_model(), CudaGraph::attention), grouped);
  const std::set<std::string> latent = replayed(small_mla(), CudaGraph::attention);
  for (const char* name : {"attn_norm", "q_a_norm", "kv_a_norm.bwd", "kv_b", "q_b.wgrad", "attn"}) {
    EXPECT_TRUE(latent.contains(name)) << name;
  }
  for (const char* name : {"mlp_norm", "router", "topk", "shared.fc1", "experts.fc1", "permute"}) {
    EXPECT_FALSE(latent.contains(name)) << name;
  }
}

// The counts are the graph's last work: the host reads them right after it.
TEST(Graph, OfTheRouterCountsTheRows) {
  WorkloadSpec dropped = small_workload();
  dropped.capacity_factor = 1.0;
  for (const WorkloadSpec& workload : {small_workload(), dropped}) {
    const std::set<std::string> router = replayed(small_mla(), CudaGraph::router, workload);
    for (const char* name : {"router", "topk", "topk.bwd"}) {
      EXPECT_TRUE(router.contains(name)) << name;
    }
    EXPECT_TRUE(router.contains(workload.capacity_factor > 0 ? "drop" : "counts"));
    EXPECT_FALSE(router.contains("attn"));
    EXPECT_FALSE(router.contains("permute"));
  }
}

// All passes of all microbatches, where nothing is exchanged and no expert's rows are for routing
// to decide. Before and after it is what a step does once.
TEST(Graph, OfAStepIsOne) {
  WorkloadSpec padded = small_workload();
  padded.capacity_factor = 1.0;
  padded.pad_to_capacity = true;
  const auto& graphs = CheckingDevice::graphs();
  const std::set<std::string> dense = replayed(dense_model(), CudaGraph::full_iteration);
  EXPECT_EQ(graphs.captured, 1);
  EXPECT_GE(graphs.launched, kSteps - 2);  // memory is the step before's from the third one on
  for (const char* name : {"tokens", "attn", "labels", "ce.loss", "embedding.bwd"}) {
    EXPECT_TRUE(dense.contains(name)) << name;
  }
  for (const char* name : {"grad_norm", "clip"}) EXPECT_FALSE(dense.contains(name)) << name;
  const std::set<std::string> experts =
      replayed(small_mla(), CudaGraph::full_iteration, padded);
  EXPECT_EQ(graphs.captured, 1);
  for (const char* name : {"drop", "permute", "experts.fc1", "unpermute"}) {
    EXPECT_TRUE(experts.contains(name)) << name;
  }
  // As routing decides: on one rank the number of rows is known all the same.
  const std::set<std::string> routed = replayed(small_mla(), CudaGraph::full_iteration);
  EXPECT_EQ(graphs.captured, 1);
  for (const char* name : {"counts", "permute", "experts.fc1", "experts.fc1.wgrad", "unpermute"}) {
    EXPECT_TRUE(routed.contains(name)) << name;
  }
}

// Nobody asks the device how many rows an expert has before the step's end.
TEST(Graph, LoadsOfExpertsAreCountedOnTheDevice) {
  Plan plan = fp32_plan();
  TrainConfig config = small_config(kSteps);
  config.poison = config.measure_margin = false;
  config.captures_graphs = config.measure_load = true;
  skew(config);
  const TrainResult here = run(small_mla(), plan, config);
  for (const CudaGraph scope : {CudaGraph::none, CudaGraph::full_iteration}) {
    plan.cuda_graph = scope;
    config.make_device = checking_device;
    const TrainResult there = run(small_mla(), plan, config);
    expect_same(there, here);
    ASSERT_EQ(there.steps.size(), here.steps.size());
    for (std::size_t s = 0; s < here.steps.size(); ++s) {
      EXPECT_FALSE(here.steps[s].expert_loads.empty());
      EXPECT_EQ(there.steps[s].expert_loads, here.steps[s].expert_loads) << s;
    }
  }
}

// Gradients are summed after the graph.
TEST(Graph, OfAStepIsOneOnEveryRankOfDataParallelism) {
  for (const Sharding sharding : {Sharding::none, Sharding::zero1}) {
    Plan plan = fp32_plan(2);
    plan.sharding = sharding;
    plan.cuda_graph = CudaGraph::full_iteration;
    TrainConfig config = small_config(kSteps);
    config.poison = config.measure_margin = false;
    config.captures_graphs = true;
    config.make_device = checking_device;
    auto& graphs = CheckingDevice::graphs();
    graphs.captured = graphs.launched = 0;
    run(dense_model(), plan, config);
    EXPECT_EQ(graphs.captured, 2);
    EXPECT_GE(graphs.launched, 2 * (kSteps - 2));
  }
}

// Tokens that count are others in every step, and the loss is divided by their number.
TEST(Graph, OfAMaskedLossLeavesItsWeightToTheHost) {
  Plan plan = fp32_plan();
  plan.cuda_graph = CudaGraph::full_iteration;
  TrainConfig config = small_config(kSteps);
  config.poison = config.measure_margin = false;
  config.captures_graphs = true;
  config.packing.end_of_document = config.text[3];
  config.packing.mask_loss = true;
  const TrainResult here = run(dense_model(), plan, config);
  config.make_device = checking_device;
  CheckingDevice::graphs().launched = 0;
  expect_same(run(dense_model(), plan, config), here);
  EXPECT_GT(CheckingDevice::graphs().launched, 0);
}

// What fails while a graph is captured ends the capture: the device does its work again.
TEST(Graph, FailureWhileCapturingEndsTheCapture) {
  CheckingDevice device;
  GraphCache cache(device, false);
  const View x{device.memory().allocate(32), DType::fp32, 2, 4};
  const std::vector<float> ones(8, 1), zeros(8);
  std::vector<float> got(8);
  const OpSite site{};
  const auto give = [&](bool fails) {
    cache.add(site, {}, std::span(&x, 1));
    cache.flush([&](const GraphCache::Waiting&) {
      device.kernels().zero(x);
      if (fails) throw std::runtime_error("a peer is gone");
    });
  };
  give(false);
  EXPECT_THROW(give(true), std::runtime_error);
  for (int turn = 0; turn < 2; ++turn) {  // captured, then repeated
    device.copy(x.data, ones.data(), 32);
    device.copy(got.data(), x.data, 32);
    EXPECT_EQ(got, ones);
    give(false);
    device.copy(got.data(), x.data, 32);
    EXPECT_EQ(got, zeros);
  }
  device.memory().release(static_cast<std::byte*>(x.data));
}

// Positions that the host makes for a call are those of the capture for ever: the device would show
// it if such a call were in a graph.
TEST(Graph, KeepsWhatItWasGiven) {
  CheckingDevice device;
  constexpr std::int64_t kRows = 2, kColumns = 4;
  const View x{device.memory().allocate(32), DType::fp32, kRows, kColumns};
  std::vector<std::int32_t> places{0, 1};
  const RopeShape shape{
      .seq = kRows, .heads = 1, .stride = 4, .dim = 4, .positions = places.data()};
  const std::vector<float> ones(kRows * kColumns, 1);
  std::vector<float> first(ones.size()), second(ones.size());
  device.begin_capture();
  device.kernels().rope(x, shape, false);
  const auto graph = device.end_capture();
  const auto replay = [&](std::vector<float>& to) {
    device.copy(x.data, ones.data(), 32);
    device.launch(graph);
    device.copy(to.data(), x.data, 32);
  };
  replay(first);
  places = {5, 9};
  replay(second);
  EXPECT_EQ(second, first);
  EXPECT_NE(first, ones);
  device.memory().release(static_cast<std::byte*>(x.data));
}

// A cache whose operations fill memory.
class Cache : public testing::Test {
 protected:
  Cache() {
    op_.kind = OpKind::zero;
    for (View& v : views_) v = {device_.memory().allocate(64), DType::fp32, 1, 16};
    CheckingDevice::graphs().captured = CheckingDevice::graphs().launched = 0;
  }
  ~Cache() override {
    CheckingDevice::graphs().fails = false;
    for (const View& v : views_) device_.memory().release(static_cast<std::byte*>(v.data));
  }
  void run_on(View v) {
    OpSite site;
    site.op = &op_;
    cache_.add(site, {}, std::span(&v, 1));
    cache_.flush([this](const GraphCache::Waiting& w) {
      ++calls_;
      device_.kernels().zero(w.out[0]);
    });
  }

  CheckingDevice device_;
  std::vector<std::string> said_;
  GraphCache cache_{device_, false, [this](const std::string& line) { said_.push_back(line); }};
  Op op_;
  View views_[2];
  int calls_ = 0;
};

TEST_F(Cache, RunsCapturesAndRepeats) {
  const auto& graphs = CheckingDevice::graphs();
  run_on(views_[0]);
  EXPECT_EQ(graphs.captured, 0);
  run_on(views_[0]);
  EXPECT_EQ(graphs.captured, 1);
  run_on(views_[0]);
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(graphs.launched, 2);
}

// Without a graph the work is done all the same, with a line and without another try.
TEST_F(Cache, GoesOnWithoutAGraph) {
  op_.name = "fc1";
  CheckingDevice::graphs().fails = true;
  const std::vector<float> ones(16, 1);
  std::vector<float> got(16);
  const int calls[] = {1, 3, 4, 5};  // the second time it tries
  for (const int so_far : calls) {
    for (const View& v : views_) device_.copy(v.data, ones.data(), 64);
    run_on(views_[0]);
    device_.copy(got.data(), views_[0].data, 64);
    EXPECT_EQ(got, std::vector<float>(16));
    EXPECT_EQ(calls_, so_far);
  }
  EXPECT_EQ(said_,
            std::vector<std::string>{"operations from fc1 to fc1 are no graph and go on one by "
                                     "one: no graph today"});
  run_on(views_[1]);
  run_on(views_[1]);
  EXPECT_EQ(said_.size(), 1U) << "one line is enough";
  EXPECT_EQ(CheckingDevice::graphs().launched, 0);
}

TEST_F(Cache, OtherMemoryIsAnotherScope) {
  for (int i = 0; i < 2; ++i) {
    for (const View& v : views_) run_on(v);
  }
  EXPECT_EQ(CheckingDevice::graphs().captured, 2);
  View shorter = views_[0];
  shorter.cols = 8;
  run_on(shorter);
  EXPECT_EQ(CheckingDevice::graphs().captured, 2);
  EXPECT_EQ(calls_, 5);
}

// A graph's kernels may use memory that the kernel set has given back since.
TEST_F(Cache, StartsAgainWhenMemoryIsGivenBack) {
  run_on(views_[0]);
  run_on(views_[0]);
  device_.give_memory_back();
  run_on(views_[0]);
  EXPECT_EQ(CheckingDevice::graphs().captured, 1);
  EXPECT_EQ(calls_, 3);
  run_on(views_[0]);
  EXPECT_EQ(CheckingDevice::graphs().captured, 2);
}

}  // namespace
}  // namespace pleat::test
