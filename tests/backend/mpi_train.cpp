// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Run by mpirun: trains layouts over MPI and, on process 0, with threads, and compares loss, norm,
// weights and gradients to the bit. On four processes several small layouts; with a number of
// processes as its argument, the layouts of the parity suite that have so many ranks. Exit code 0
// if all are the same.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend/comm/message_communicator.hpp"
#include "backend/comm/mpi_job.hpp"
#include "tests/backend/layouts_test.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

int problems = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++problems;
  std::fprintf(stderr, "%s\n", what.c_str());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void compare(const TrainResult& mpi, const TrainResult& threads, const std::string& name) {
  expect(mpi.steps.size() == threads.steps.size(), name + ": steps");
  for (std::size_t s = 0; s < mpi.steps.size(); ++s) {
    expect(mpi.steps[s].loss == threads.steps[s].loss, name + ": loss");
    expect(mpi.steps[s].grad_norm == threads.steps[s].grad_norm, name + ": gradient norm");
  }
  expect(mpi.ranks.size() == threads.ranks.size(), name + ": ranks");
  for (std::size_t r = 0; r < mpi.ranks.size(); ++r) {
    expect(mpi.ranks[r].peak_live_bytes == threads.ranks[r].peak_live_bytes, name + ": peak");
    expect(mpi.ranks[r].peak_host_bytes == threads.ranks[r].peak_host_bytes, name + ": host peak");
    expect(mpi.ranks[r].routed == threads.ranks[r].routed, name + ": routed");
  }
  for (const auto& [tensors, others] :
       {std::pair(&mpi.weights, &threads.weights), std::pair(&mpi.gradients, &threads.gradients)}) {
    expect(tensors->size() == others->size() && !tensors->empty(), name + ": tensors");
    for (const auto& [tensor, values] : *others) {
      expect(tensors->contains(tensor) && same_bits(tensors->at(tensor), values),
             name + ": " + tensor);
    }
  }
}

void compare_on(const JobPart& part, const ModelSpec& model, const Plan& plan,
                const TrainConfig& config, const std::string& name) {
  const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
  const TrainResult mpi = train(program, config, part);
  if (part.ranks().front()->rank().value == 0) compare(mpi, train(program, config), name);
}

// A message of several pieces, each longer than what MPI sends eagerly, both ways at once.
void exchange_long_messages(Transport& transport) {
  const auto world = transport.group({{0}, {1}, {2}, {3}});
  const std::size_t n = (2 * kMessageBytes + 12) / sizeof(float);
  std::vector<float> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<float>(i % 1000) + 1;
  const int next = (world->rank() + 1) % 4, previous = (world->rank() + 3) % 4;
  world->send(next, std::as_bytes(std::span(data)), 3);
  std::vector<float> got(n);
  world->recv(previous, std::as_writable_bytes(std::span(got)), 3);
  expect(same_bits(got, data), "long message");
  world->all_reduce(got);
  bool right = true;
  for (std::size_t i = 0; i < n; ++i) right = right && got[i] == 4 * data[i];
  expect(right, "long reduction");
}

void small_layouts() {
  const JobPart part = join_over_mpi({.ranks = 1, .world = 4, .fingerprint = {}});
  exchange_long_messages(*part.ranks().front());
  TrainConfig config = test::small_config(2);
  test::skew(config);
  Plan unsharded = fp32_plan(4, 2);
  unsharded.sharding = Sharding::none;
  Plan bf16 = test::tp_plan(2, 2, 2);
  bf16.precision = Precision::bf16;
  bf16.optimizer.main_grads = DType::bf16;
  Plan muon = test::tp_plan(2, 2, 2);
  muon.optimizer.kind = OptimizerKind::muon;
  muon.overlap.expert_parallel = muon.overlap.delay_wgrad = true;
  Plan away = fp32_plan(4, 2);
  away.optimizer.exp_avg = DType::fp8;
  away.optimizer.state_offload = 0.5;
  away.offload = {Offload::core_attn, Offload::moe_act};
  Plan narrow = fp32_plan(4, 4);  // weights in codes, rows and gradients narrow on the way
  narrow.precision = Precision::mxfp8;
  narrow.fp8_dispatch = narrow.fp8_combine = true;
  narrow.dispatcher = Dispatcher::deepep;
  narrow.optimizer.grad_reduce = DType::bf16;
  Plan halves = fp32_plan(4, 2);
  halves.precision = Precision::bf16;
  halves.sharding = Sharding::zero3;
  halves.optimizer.main_params = DType::remainder16;
  Plan tiles = fp32_plan(4, 2);
  tiles.overlap.tile_level = true;
  Plan stash = tiles;
  stash.dispatcher = Dispatcher::allgather;
  stash.paged_stash = {.buffer = 4, .capacity = 5};
  const std::pair<const char*, Plan> layouts[] = {{"dp4", fp32_plan(4)},
                                                  {"dp4 ep4", fp32_plan(4, 4)},
                                                  {"dp4 ep2", unsharded},
                                                  {"dp2 ep2 pp2", fp32_plan(2, 2, 2)},
                                                  {"bf16", bf16},
                                                  {"muon overlap", muon},
                                                  {"host memory", away},
                                                  {"narrow ways", narrow},
                                                  {"remainders", halves},
                                                  {"tiles", tiles},
                                                  {"tiles, gathered and stashed", stash},
                                                  {"pp4", fp32_plan(1, 1, 4)},
                                                  {"tp2 ep2 pp2", test::tp_plan(2, 1, 2, 2)}};
  for (const auto& [name, plan] : layouts) {
    compare_on(part, test::biased(test::small_moe()), plan, config, name);
  }
}

void suite(int world) {
  const JobPart part = join_over_mpi({.ranks = 1, .world = world, .fingerprint = {}});
  const TrainConfig config = test::sgd_like(2);
  int compared = 0;
  for (const test::SuiteLayout& l : test::suite_layouts()) {
    if (l.plan.world() != world) continue;
    compare_on(part, test::model_of(l.architecture), l.plan, config, l.name);
    ++compared;
  }
  expect(compared > 0, "a layout of so many ranks");
  if (part.ranks().front()->rank().value == 0) std::printf("%d layouts\n", compared);
}

}  // namespace
}  // namespace pleat

// Arguments: none, or the number of processes.
int main(int argc, char** argv) {
  try {
    if (argc == 2) pleat::suite(std::atoi(argv[1]));
    if (argc == 1) pleat::small_layouts();
    return pleat::problems == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
