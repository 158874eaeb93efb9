// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the executor exchanges is what the program lists: operation, members, bytes and order, for
// every rank of a job, each run by itself.
#include <gtest/gtest.h>

#include "backend/data/sample_source.hpp"
#include "backend/execute/executor.hpp"
#include "core/plan/plan_words.hpp"
#include "core/plan/predicted_only.hpp"
#include "kernels/host_device.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"
#include "tests/support/recording_transport.hpp"

namespace pleat {
namespace {

using test::unsharded;

using test::fp32_plan;
using Kind = CommCall::Kind;

// "reduce_scatter of 640 bytes over 0 2"; messages name their other end.
std::string to_line(Kind kind, const std::vector<Rank>& members, std::int64_t bytes, Rank peer) {
  const char* const names[] = {"barrier",    "all_gather", "all_reduce", "reduce_scatter",
                               "all_to_all", "send",       "recv"};
  std::string line = names[static_cast<int>(kind)] + (" of " + std::to_string(bytes));
  if (kind == Kind::send || kind == Kind::recv) return line + " with " + std::to_string(peer.value);
  line += " over";
  for (const Rank r : members) line += " " + std::to_string(r.value);
  return line;
}

std::vector<std::string> executed(const Program& program, Rank rank) {
  std::vector<CommCall> calls;
  const auto transport = make_recording_transport(rank, program.plan.world(), calls);
  TrainConfig config = test::small_config();
  config.forced_routing = true;
  const Batches batches(std::make_shared<ConsecutiveBytes>(config.text, program.workload.seq_len),
                        program.workload, program.model.vocab, program.plan.attention.dp,
                        program.plan.micro_batch);
  const RankContext context(program, *transport);
  const auto device = host_device();
  RankProgress progress;
  Executor executor(program, config, context, batches, *device, progress);
  calls.clear();
  executor.run_step(0, nullptr);
  std::vector<std::string> lines;
  for (const CommCall& c : calls) {
    const Rank peer = c.peer < 0 ? Rank{-1} : c.members[static_cast<std::size_t>(c.peer)];
    lines.push_back(to_line(c.kind, c.members, c.bytes, peer));
  }
  return lines;
}

// The same from the program alone.
class Listing final : private StepVisitor {
 public:
  Listing(const Program& program, Rank rank)
      : program_(program),
        rank_(rank),
        stage_(
            program.stages[static_cast<std::size_t>(attention_coordinates(program.plan, rank).pp)]),
        routed_(balanced_routed_tokens(program.model, program.workload, program.plan)) {
    for (const Op& op : stage_.prologue) add_step_op(op);
    walk_step(stage_, *this);
    for (const Op& op : stage_.epilogue) add_step_op(op);
  }
  std::vector<std::string> lines;

 private:
  void on_birth(const OpSite&, const InstanceKey&, const Tensor&) override {}
  void on_death(const OpSite&, const InstanceKey&, const Tensor&) override {}
  void on_op(const OpSite& site) override {
    const Op& op = *site.op;
    if (!is_collective(op.kind)) return;
    const TensorId moved = op.kind == OpKind::recv ? op.out[0] : op.in[0];
    add(op, site.program->tensor(moved).bytes({routed_}));
  }
  void add_step_op(const Op& op) {
    if (!is_collective(op.kind)) return;
    std::int64_t bytes = stage_.state[op.in[0].index()].bytes({});
    for (const BucketState& b : stage_.buckets) {
      const bool mine = b.elements > 0 && (op.in[0] == b.weights || op.in[0] == b.gradients);
      if (mine && op.kind == OpKind::gather_bucket) bytes = 4 * b.shard_elements;
      if (mine && op.kind == OpKind::reduce_bucket) bytes = 4 * b.shards * b.shard_elements;
    }
    // A sum of some elements only: of what all ranks of a tensor-parallel group hold.
    if (family_of(op.kind) == OpKind::all_reduce && !(op.attr.n == Dim{})) bytes = 4 * op.attr.n.n;
    add(op, bytes);
  }
  void add(const Op& op, std::int64_t bytes) {
    const std::vector<Rank> members = group_members(program_.plan, rank_, op.group);
    Kind kind{};
    switch (family_of(op.kind)) {
      case OpKind::all_gather:
        kind = Kind::all_gather;
        break;
      case OpKind::all_reduce:
        kind = Kind::all_reduce;
        break;
      case OpKind::reduce_scatter:
        kind = Kind::reduce_scatter;
        break;
      case OpKind::send:
        kind = Kind::send;
        break;
      case OpKind::recv:
        kind = Kind::recv;
        break;
      default:
        kind = Kind::all_to_all;
        break;
    }
    lines.push_back(to_line(kind, members, bytes, members.back()));
  }

  const Program& program_;
  Rank rank_;
  const StageProgram& stage_;
  std::int64_t routed_;
};

TEST(Recording, TheExecutorExchangesWhatTheProgramLists) {
  for (const Plan& plan :
       {fp32_plan(), fp32_plan(2), fp32_plan(4, 4), fp32_plan(4, 2, 2), unsharded(fp32_plan(4, 2)),
        fp32_plan(1, 1, 4), test::tp_plan(2, 2, 2)}) {
    const Program program =
        compile(test::small_moe(), test::small_workload(), plan, Runtime::pleat);
    for (int r = 0; r < plan.world(); ++r) {
      const Listing listing(program, {r});
      EXPECT_EQ(executed(program, {r}), listing.lines) << summary(plan) << ", rank " << r;
      EXPECT_EQ(listing.lines.size() > 3, plan.world() > 1);
    }
  }
}

// One rank of a job far larger than this machine.
TEST(Recording, OneRankOfManyRunsByItself) {
  const Program program = compile(test::small_moe(), {.seq_len = 16, .global_batch = 512},
                                  fp32_plan(256, 8), Runtime::pleat);
  const Listing listing(program, {77});
  EXPECT_EQ(executed(program, {77}), listing.lines);
}

// What `pleat plan` says of exchanges that it prices and this executor has not (predicted_only).
TEST(Recording, ExchangesThatAreOnlyPredictedRunAsTheAllToAll) {
  const auto runs = [](Dispatcher dispatcher) {
    const Program program = compile(test::small_moe(), test::small_workload(),
                                    test::by(dispatcher, fp32_plan(4, 4)), Runtime::pleat);
    return executed(program, {1});
  };
  const std::vector<std::string> all_to_all = runs(Dispatcher::alltoall);
  for (const Dispatcher d : kAll<Dispatcher>) {
    const bool told = !predicted_only(test::by(d, fp32_plan(4, 4))).empty();
    EXPECT_EQ(told, d != Dispatcher::alltoall && runs(d) == all_to_all) << name_of(d);
  }
}

}  // namespace
}  // namespace pleat
