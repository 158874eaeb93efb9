// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Run by mpirun on four processes: trains several layouts over MPI and, on process 0, with threads,
// and compares loss, norm, weights and gradients to the bit. Exit code 0 if all are the same.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "backend/comm/message_communicator.hpp"
#include "backend/comm/mpi_job.hpp"
#include "tests/backend/train_runs.hpp"

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

int run() {
  const JobPart part = join_over_mpi({.ranks = 1, .world = 4, .fingerprint = {}});
  exchange_long_messages(*part.ranks().front());
  TrainConfig config = test::small_config(2);
  test::skew(config);
  Plan unsharded = fp32_plan(4, 2);
  unsharded.sharding = Sharding::none;
  const std::pair<const char*, Plan> layouts[] = {
      {"dp4", fp32_plan(4)},       {"dp4 ep4", fp32_plan(4, 4)},
      {"dp4 ep2", unsharded},      {"dp2 ep2 pp2", fp32_plan(2, 2, 2)},
      {"pp4", fp32_plan(1, 1, 4)}, {"tp2 ep2 pp2", test::tp_plan(2, 1, 2, 2)}};
  for (const auto& [name, plan] : layouts) {
    const Program program =
        compile(test::biased(test::small_moe()), test::small_workload(), plan, Runtime::pleat);
    const TrainResult mpi = train(program, config, part);
    if (part.ranks().front()->rank().value == 0) compare(mpi, train(program, config), name);
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pleat

int main() {
  try {
    return pleat::run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
