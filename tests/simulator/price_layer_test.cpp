// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layers and pairs of layers: timelines, parts and memory against values worked out by hand.
#include <gtest/gtest.h>

#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::LayerMaker;
using test::part_of;
using test::round_cluster;
using test::total_of;
using test::uniform_view;

// An all-to-all of `ms` milliseconds on two ranks of round_cluster: half of the bytes at 100 GB/s.
Op exchange(OpKind kind, const std::string& name, TensorId in, TensorId out) {
  Op e;
  e.kind = kind;
  e.name = name;
  e.group = Group::ep;
  e.in = {in};
  e.out = {out};
  return e;
}
constexpr std::int64_t kElementsPerMs = 50'000'000;  // fp32, sent and received

TEST(PriceLayer, SerialSumAndHostBound) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {});
  LayerMaker m;
  const TensorId a = m.tensor(1), b = m.tensor(1), c = m.tensor(1);
  m.gemm(Pass::forward, "one", 2, {a}, {b});
  m.gemm(Pass::forward, "two", 3, {b}, {c});
  Profile profile = ideal_profile();
  PassCost cost = price(m.layer, {}, {}, view, profile).forward;
  EXPECT_DOUBLE_EQ(cost.time.base(), 5e-3);
  EXPECT_DOUBLE_EQ(part_of(cost.parts, CostClass::gemm).base(), 5e-3);
  EXPECT_EQ(cost.source, SourceClass::fitted);
  profile.host_per_op = Seconds(4e-3);
  cost = price(m.layer, {}, {}, view, profile).forward;
  EXPECT_DOUBLE_EQ(cost.time.base(), 8e-3);
  EXPECT_DOUBLE_EQ(part_of(cost.parts, CostClass::host).base(), 3e-3);
  EXPECT_DOUBLE_EQ(total_of(cost.parts), 8e-3);
  auto graph = view;
  graph.cuda_graph = CudaGraph::full_iteration;
  EXPECT_DOUBLE_EQ(price(m.layer, {}, {}, graph, profile).forward.time.base(), 5e-3);
}

// 6 ms of host a layer are 2 forward: hidden behind 5 ms of work, seen behind 1 ms.
TEST(PriceLayer, HostTimeThatTheGpuHides) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {});
  Profile profile = ideal_profile();
  profile.host_busy_per_layer = Seconds(6e-3);
  profile.host_per_head = Seconds(3e-3);
  const auto forward = [&](LayerKind kind, double ms, ClusterView v) {
    LayerMaker m;
    m.layer.kind = kind;
    m.gemm(Pass::forward, "one", ms, {m.tensor(1)}, {m.tensor(1)});
    return price(m.layer, {}, {}, v, profile).forward.time.base();
  };
  EXPECT_DOUBLE_EQ(forward(LayerKind::dense, 5, view), 5e-3);
  EXPECT_DOUBLE_EQ(forward(LayerKind::dense, 1, view), 2e-3);
  EXPECT_DOUBLE_EQ(forward(LayerKind::moe, 1, view), 2e-3);
  EXPECT_DOUBLE_EQ(forward(LayerKind::head, 5, view), 6e-3);  // on top
  EXPECT_DOUBLE_EQ(forward(LayerKind::embedding, 1, view), 1e-3);
  auto graph = view;
  graph.cuda_graph = CudaGraph::full_iteration;
  EXPECT_DOUBLE_EQ(forward(LayerKind::dense, 1, graph), 1e-3);
}

// 12 ms of host a layer are 4 forward, 1 for each of four operations: those outside of the scope.
TEST(PriceLayer, HostTimeBesideGraphsOfParts) {
  const ClusterSpec cluster = round_cluster();
  auto view = uniform_view(cluster, {});
  LayerMaker m;
  m.layer.kind = LayerKind::moe;
  for (const Module module : {Module::qkv, Module::attn_proj, Module::router, Module::experts}) {
    m.gemm(Pass::forward, "op", 0.1, {m.tensor(1)}, {m.tensor(1)});
    m.layer.forward.back().module = module;
  }
  Profile profile = ideal_profile();
  profile.host_busy_per_layer = Seconds(12e-3);
  const auto forward = [&](CudaGraph scope) {
    view.cuda_graph = scope;
    return price(m.layer, {}, {}, view, profile).forward.time.base();
  };
  EXPECT_NEAR(forward(CudaGraph::none), 4e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::attention), 2e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::router), 3e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::partial), 1e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::full_iteration), 0.4e-3, 1e-12);  // the GPU's
}

// Of the launches of one projection, one expert product and the router the host makes those that
// the scope leaves out; beside them what the layer takes on top by scope.
TEST(PriceLayer, GraphsOfPartsSaveTheirLaunches) {
  const ClusterSpec cluster = round_cluster();
  auto view = uniform_view(cluster, {});
  LayerMaker m;
  m.layer.kind = LayerKind::moe;
  for (const auto& [name, module] :
       {std::pair{"qkv", Module::qkv}, std::pair{"fc1", Module::experts},
        std::pair{"router", Module::router}}) {
    m.gemm(Pass::forward, name, 0.001, {m.tensor(1)}, {m.tensor(1)});
    m.layer.forward.back().module = module;
  }
  Profile profile = ideal_profile();
  profile.host_per_op = Seconds(1e-3);
  profile.host_per_moe_layer = {Seconds(60e-3), Seconds(48e-3), Seconds(42e-3), Seconds(0)};
  const auto forward = [&](CudaGraph scope) {
    view.cuda_graph = scope;
    return price(m.layer, {}, {}, view, profile).forward.time.base();
  };
  EXPECT_NEAR(forward(CudaGraph::none), 3e-3 + 20e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::attention), 2e-3 + 18e-3, 1e-12);  // 60 - (48 - 42)
  EXPECT_NEAR(forward(CudaGraph::router), 2e-3 + 16e-3, 1e-12);
  EXPECT_NEAR(forward(CudaGraph::partial), 1e-3 + 14e-3, 1e-12);
}

TEST(PriceLayer, RanksWaitForEachOtherAtTensorParallelExchanges) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  const auto forward = [&](Group group, Seconds skew, CudaGraph graph) {
    LayerMaker m;
    Op reduce = exchange(OpKind::all_reduce, "reduce", m.tensor(1), m.tensor(1));
    reduce.group = group;
    m.add(Pass::forward, reduce);
    m.add(Pass::forward, reduce);
    Profile profile = ideal_profile();
    profile.tp_skew = skew;
    auto v = view;
    v.cuda_graph = graph;
    return price(m.layer, {}, {}, v, profile).forward.time.base();
  };
  const double alone = forward(Group::tp, Seconds(0), CudaGraph::none);
  EXPECT_NEAR(forward(Group::tp, Seconds(1e-3), CudaGraph::none) - alone, 2e-3, 1e-15);
  EXPECT_EQ(forward(Group::tp, Seconds(1e-3), CudaGraph::full_iteration), alone);
  EXPECT_EQ(forward(Group::ep, Seconds(1e-3), CudaGraph::none),
            forward(Group::ep, Seconds(0), CudaGraph::none));
}

TEST(PriceLayer, CommStreamFollowsDependencies) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  LayerMaker m;
  const TensorId x = m.tensor(1), sent = m.tensor(3 * kElementsPerMs),
                 got = m.tensor(3 * kElementsPerMs), y = m.tensor(1), z = m.tensor(1);
  // The exchange depends on "first" (an operand in name only would price its bytes).
  m.gemm(Pass::forward, "first", 2000, {x}, {sent});
  m.add(Pass::forward, exchange(OpKind::all_to_all, "exchange", sent, got)).stream = Stream::comm;
  m.gemm(Pass::forward, "beside", 1, {x}, {y});
  m.gemm(Pass::forward, "after", 2000, {got}, {z});
  const PassCost cost = price(m.layer, {}, {}, view, ideal_profile()).forward;
  EXPECT_NEAR(cost.time.base(), 2.0 + 3e-3 + 2.0, 1e-12);
  EXPECT_NEAR(part_of(cost.parts, CostClass::ep_comm).base(), 2e-3, 1e-12);
  EXPECT_NEAR(total_of(cost.parts), cost.time.base(), 1e-12);
}

// Four steps: attention works 8 ms in all, each of three transfers takes `hop` ms.
TEST(PriceLayer, RingRunsBesideTheAttentionItFeeds) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  const auto time = [&](double hop) {
    Profile profile = ideal_profile();
    for (auto& tier : profile.collectives) {
      tier[static_cast<std::size_t>(Collective::send_recv)].latency = Seconds(hop * 1e-3);
    }
    LayerMaker m;
    const TensorId own = m.tensor(1), all = m.tensor(4), o = m.tensor(1);
    Op ring = exchange(OpKind::all_gather, "kv.ag", own, all);
    ring.group = Group::cp;
    ring.stream = Stream::comm;
    ring.in_pieces = true;
    m.add(Pass::forward, ring);
    m.gemm(Pass::forward, "attention", 8, {own, all}, {o});
    return price(m.layer, {}, {}, view, profile).forward.time.base() * 1e3;
  };
  EXPECT_NEAR(time(1), 8, 1e-3);            // hidden: a step of attention takes 2 ms
  EXPECT_NEAR(time(3), 3 * 3 + 2, 1e-3);    // three transfers, then the last piece's attention
}

// A fused exchange of 3 ms before and after a product of 4 ms, two ranks: half of the rows are the
// rank's own, the last half of what it makes leaves when the product is done.
TEST(PriceLayer, TilesTravelBesideTheirProduct) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    for (auto& curve : tier) curve.latency = Seconds(3e-3);
  }
  const auto time = [&](bool tiles) {
    LayerMaker m;
    const TensorId sent = m.tensor(1), got = m.tensor(1), out = m.tensor(1), back = m.tensor(1);
    m.add(Pass::forward, exchange(OpKind::all_to_all, "there", sent, got));
    m.gemm(Pass::forward, "experts", 4, {got}, {out});
    m.add(Pass::forward, exchange(OpKind::all_to_all_back, "back", out, back));
    for (Op& op : m.layer.forward) {
      if (!is_collective(op.kind)) continue;
      op.in_pieces = tiles;
      if (tiles) op.stream = Stream::comm;
    }
    return price(m.layer, {}, {}, view, profile).forward.time.base() * 1e3;
  };
  EXPECT_NEAR(time(false), 3 + 4 + 3, 1e-3);
  // The product ends after 5 ms (2 of its 4 wait for the exchange's end at 3), the way back 1.5
  // later.
  EXPECT_NEAR(time(true), 5 + 1.5, 1e-3);
}

// A layer that gathers its weights (3 ms) beside 2 + 4 ms of products, and reduces gradients (3
// ms).
LayerProgram sharded_layer(std::int64_t local_experts) {
  LayerMaker m;
  const TensorId shards = m.tensor(1), x = m.tensor(1), y = m.tensor(1);
  for (Pass pass : {Pass::forward, Pass::backward}) {
    const bool forward = pass == Pass::forward;
    Op op =
        exchange(forward ? OpKind::all_gather : OpKind::reduce_scatter, "shards", shards, shards);
    op.group = Group::edp;
    op.module = Module::grad_sync;
    op.stream = Stream::copy;
    m.add(pass, op);
    Op& product = m.gemm(pass, "product", forward ? 2 : 4, {x}, {y});
    product.kind = OpKind::grouped_gemm;
    product.attr.local_experts = local_experts;
  }
  m.layer.weights = {{.weight = x, .gradient = y, .bucket = Bucket::expert, .elements = 1}};
  return m.layer;
}

TEST(PriceLayer, ShardsSlowTheComputeTheyHideBehind) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    for (auto& curve : tier) curve.latency = Seconds(3e-3);
  }
  const LayerProgram layer = sharded_layer(1);
  LayerCosts costs = price(layer, {}, {}, view, profile);
  EXPECT_NEAR(costs.forward.time.base(), 3e-3, 1e-9);   // waits for its weights
  EXPECT_NEAR(costs.backward.time.base(), 4e-3, 1e-9);  // hides its reduction
  profile.dp_beside_compute = 0.5;
  costs = price(layer, {}, {}, view, profile);
  EXPECT_NEAR(costs.forward.time.base(), 3e-3, 1e-9);  // 2 + 2 / 2 are 3 too
  EXPECT_NEAR(costs.backward.time.base(), 5.5e-3, 1e-9);
  EXPECT_NEAR(part_of(costs.backward.parts, CostClass::dp_comm).base(), 1.5e-3, 1e-9);
  EXPECT_NEAR(total_of(costs.backward.parts), costs.backward.time.base(), 1e-12);
}

TEST(PriceLayer, HostHandlesEveryShardedWeight) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  Profile profile = ideal_profile();
  profile.host_per_sharded_weight = Seconds(1e-3);
  // Eight experts have a tensor each, gathered forward and reduced backward.
  const LayerCosts eight = price(sharded_layer(8), {}, {}, view, profile);
  EXPECT_NEAR(eight.forward.time.base(), 8e-3, 1e-9);
  EXPECT_NEAR(eight.backward.time.base(), 8e-3, 1e-9);
  EXPECT_NEAR(part_of(eight.backward.parts, CostClass::host).base(), 4e-3, 1e-9);
  const LayerCosts one = price(sharded_layer(1), {}, {}, view, profile);
  EXPECT_NEAR(one.backward.time.base(), 4e-3, 1e-9);  // the GPU takes longer
}

// Two ops of 2.5 milliseconds on the host, and on top 1 for each of six kernels of a chain; of a
// graph it launches none.
TEST(PriceLayer, HostLaunchesEveryKernelOfAChain) {
  const ClusterSpec cluster = round_cluster();
  auto view = uniform_view(cluster, {});
  Profile profile = ideal_profile();
  profile.host_per_op = Seconds(2.5e-3);
  LayerMaker m;
  const TensorId x = m.tensor(1), y = m.tensor(1), z = m.tensor(1);
  m.gemm(Pass::forward, "a", 1, {x}, {y}).attr.unfused_kernels = 6;
  m.gemm(Pass::forward, "b", 1, {y}, {z});
  const auto forward = [&] { return price(m.layer, {}, {}, view, profile).forward.time.base(); };
  EXPECT_NEAR(forward(), 5e-3, 1e-9);
  profile.host_per_launch = Seconds(1e-3);
  EXPECT_NEAR(forward(), 11e-3, 1e-9);
  view.cuda_graph = CudaGraph::full_iteration;
  EXPECT_NEAR(forward(), 2e-3, 1e-9);
}

TEST(PriceLayer, MemoryFollowsLifetimes) {
  const ClusterSpec cluster = round_cluster();
  LayerMaker m;
  const TensorId x = m.tensor(10), scratch = m.tensor(1000), y = m.tensor(20), dy = m.tensor(20),
                 dx = m.tensor(10), saved = m.tensor(5);
  m.layer.input = x;
  m.layer.output = y;
  m.layer.grad_output = dy;
  m.layer.grad_input = dx;
  m.gemm(Pass::forward, "a", 1, {x}, {scratch, saved});
  m.gemm(Pass::forward, "b", 1, {scratch}, {y});
  m.gemm(Pass::backward, "c", 1, {dy, saved, x}, {dx});
  compute_lifetimes(m.layer);
  const LayerCosts costs = price(m.layer, {}, {}, uniform_view(cluster, {}), ideal_profile());
  // Bytes: forward makes scratch and saved, then y beside them, then frees scratch.
  EXPECT_EQ(costs.forward.memory.peak, 4 * (1000 + 5 + 20));
  EXPECT_EQ(costs.forward.memory.net, 4 * (5 + 20));
  // Backward makes dx, then frees saved, its input x and dy.
  EXPECT_EQ(costs.backward.memory.peak, 4 * 10);
  EXPECT_EQ(costs.backward.memory.net, 4 * (10 - 5 - 10 - 20));
}

TEST(PriceLayer, CapacityOnlyMovesMemory) {
  const ClusterSpec cluster = round_cluster();
  LayerMaker m;
  const TensorId x = m.tensor(10), r = m.tensor(1);
  m.layer.tensors[r.index()].shape = {{2, Symbol::routed}};
  m.gemm(Pass::forward, "a", 1, {x}, {r}).attr.m = {500'000, Symbol::routed};
  compute_lifetimes(m.layer);
  const auto view = uniform_view(cluster, {});
  const LayerCosts costs = price(m.layer, {.routed = 100}, {.routed = 300}, view, ideal_profile());
  EXPECT_DOUBLE_EQ(costs.forward.time.base(), 2 * 500'000.0 * 100 / 1e12);
  EXPECT_EQ(costs.forward.memory.peak, 4 * (2 * 300 + 10));
}

// One layer in both roles, milliseconds: attention 4, dispatch 2, experts 3, combine 2, tail 1.
// Forward and backward have the same shape here.
LayerProgram exchange_layer() {
  LayerMaker m;
  for (Pass pass : {Pass::forward, Pass::backward}) {
    const TensorId x = m.tensor(1), sent = m.tensor(1), got = m.tensor(1), out = m.tensor(1),
                   back = m.tensor(1), y = m.tensor(1);
    const bool f = pass == Pass::forward;
    m.gemm(pass, f ? "attention" : "tail.bwd", f ? 4 : 1, {x}, {sent});
    m.add(pass, exchange(OpKind::all_to_all, "there", sent, got));
    m.gemm(pass, "experts", f ? 3 : 6, {got}, {out});
    m.add(pass, exchange(OpKind::all_to_all_back, "back", out, back));
    m.gemm(pass, f ? "tail" : "attention.bwd", f ? 1 : 8, {back}, {y});
  }
  return m.layer;
}

TEST(PricePair, HidesExchangesBehindTheOtherLayer) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    for (auto& curve : tier) curve.latency = Seconds(2e-3);  // every exchange takes 2 ms
  }
  const LayerProgram layer = exchange_layer();
  const LayerCosts alone = price(layer, {}, {}, view, profile);
  EXPECT_NEAR(alone.forward.time.base(), 12e-3, 1e-9);   // 4+2+3+2+1
  EXPECT_NEAR(alone.backward.time.base(), 19e-3, 1e-9);  // 1+2+6+2+8
  // compute: tail.bwd 0-1, attention 1-5, experts.bwd 5-11, experts 11-14, attention.bwd 14-22,
  //          tail 22-23;  comm: 1-3, 5-7, 11-13, 14-16. All exchanges hidden.
  const PassCost pair = price_pair(layer, layer, Binding{}, view, profile);
  EXPECT_NEAR(pair.time.base(), 23e-3, 1e-9);
  EXPECT_NEAR(part_of(pair.parts, CostClass::ep_comm).base(), 0, 1e-9);
  EXPECT_NEAR(total_of(pair.parts), pair.time.base(), 1e-12);
}

TEST(PricePair, ExposesWhatDoesNotFit) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    for (auto& curve : tier) curve.latency = Seconds(10e-3);
  }
  const LayerProgram layer = exchange_layer();
  // comm:    there.bwd 1-11, there.fwd 11-21, back.bwd 21-31, back.fwd 31-41
  // compute: 0-1, 1-5, experts.bwd 11-17, experts 21-24, attention.bwd 31-39, tail 41-42
  const PassCost pair = price_pair(layer, layer, Binding{}, view, profile);
  EXPECT_NEAR(pair.time.base(), 42e-3, 1e-9);
  EXPECT_NEAR(part_of(pair.parts, CostClass::gemm).base(), 23e-3, 1e-9);
  EXPECT_NEAR(part_of(pair.parts, CostClass::ep_comm).base(), 19e-3, 1e-9);
  const LayerCosts alone = price(layer, {}, {}, view, profile);
  EXPECT_LT(pair.time, alone.forward.time + alone.backward.time);
}

}  // namespace
}  // namespace pleat
