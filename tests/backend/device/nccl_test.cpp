// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The way through NCCL, with a stand-in for its library: which calls are made with what, the bits
// of what comes of it, and that ranks which wait on their devices end when another one is lost.
#include <gmock/gmock.h>

#include <chrono>

#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/nccl_ranks.hpp"

namespace pleat::test {
namespace {

std::shared_ptr<const NcclFunctions> fake() {
  static const auto functions = load_nccl(PLEAT_FAKE_NCCL);
  return functions;
}

std::vector<std::string> run_on_devices(Kind kind, int world, bool ordered,
                                        const DeviceBody& body) {
  return run_on_devices(kind, world, fake(), {.ordered_sums = ordered}, body);
}

class Nccl : public testing::TestWithParam<std::tuple<Kind, int, bool>> {};

TEST_P(Nccl, ExchangesAndAddsUp) {
  const auto& [kind, world, ordered] = GetParam();
  const auto n = static_cast<std::size_t>(world);
  const auto thrown = run_on_devices(kind, world, ordered, [n, world](Device& d, Communicator& comm,
                                                                   Transport&) {
    const int me = comm.rank();
    const auto mine_first = static_cast<std::size_t>(me);
    const There mine(d, values(me, 5)), all(d, std::vector<float>(5 * n));
    comm.all_gather(mine.raw(), all.raw());
    for (std::size_t i = 0; i < 5 * n; ++i) {
      EXPECT_EQ(all.values()[i], value(static_cast<int>(i / 5), i % 5));
    }
    const There sums(d, values(me, 7));
    comm.all_reduce(sums.span());
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(sums.values()[i], sum_in_rank_order(world, i));
    const There parts(d, values(me, 3 * n)), part(d, std::vector<float>(3));
    comm.reduce_scatter(std::span<const float>(parts.span()), part.span());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(part.values()[i], sum_in_rank_order(world, 3 * mine_first + i));
    }
    // r + 1 numbers to rank r from every one, none to rank 0.
    std::vector<std::int64_t> send, recv(n, 4 * me);
    for (int r = 0; r < world; ++r) send.push_back(4 * r);
    const std::size_t sent = n * (n - 1) / 2;
    const There out(d, values(me, sent)), in(d, std::vector<float>(n * mine_first));
    comm.all_to_all(out.raw(), send, in.raw(), recv);
    const std::vector<float> got = in.values();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t from = i / mine_first, begin = mine_first * (mine_first - 1) / 2;
      EXPECT_EQ(got[i], value(static_cast<int>(from), begin + i % mine_first));
    }
    const There share(d, values(me, mine_first)), shares(d, std::vector<float>(sent));
    comm.all_gather_ragged(share.raw(), shares.raw(), send);
    std::size_t at = 0;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t i = 0; i < r; ++i) {
        EXPECT_EQ(shares.values()[at++], value(static_cast<int>(r), i));
      }
    }
    std::vector<std::int64_t> elements;
    for (int r = 0; r < world; ++r) elements.push_back(r);
    comm.reduce_scatter_ragged(std::span<const float>(out.span()), share.span(), elements);
    for (std::size_t i = 0; i < mine_first; ++i) {
      EXPECT_EQ(share.values()[i], sum_in_rank_order(world, mine_first * (mine_first - 1) / 2 + i));
    }
    comm.send((me + 1) % world, mine.raw(), 3);
    comm.recv((me + world - 1) % world, sums.raw().first(20), 3);
    EXPECT_EQ(sums.values()[2], value((me + world - 1) % world, 2));
    comm.barrier();
  });
  EXPECT_THAT(thrown, testing::Each(""));
}

INSTANTIATE_TEST_SUITE_P(Jobs, Nccl,
                         testing::Combine(testing::Values(Kind::threads, Kind::tcp),
                                          testing::Values(1, 2, 5), testing::Bool()));

// Tags decide which message a receiver gets, a sender waits for nobody.
TEST(Nccl, MessagesAreTakenByTheirTags) {
  for (const Kind kind : {Kind::threads, Kind::tcp}) {
    const auto thrown =
        run_on_devices(kind, 3, false, [](Device& d, Communicator& comm, Transport&) {
          const int me = comm.rank(), next = (me + 1) % 3, previous = (me + 2) % 3;
          const There first(d, values(me, 6)), second(d, values(me + 10, 2));
          There a(d, std::vector<float>(6)), b(d, std::vector<float>(2)),
              none(d, std::vector<float>(1));
          for (const int to : {next, previous}) {
            comm.send(to, first.raw(), 1);
            comm.send(to, second.raw(), 2);
            comm.send(to, first.raw(), 1);
            comm.send(to, {first.raw().data(), std::size_t{0}}, 3);
          }
          d.memory().fill(first.raw().data(), 0, 24);  // the senders' memory is theirs again
          for (const int from : {previous, next}) {
            comm.recv(from, {none.raw().data(), std::size_t{0}}, 3);
            comm.recv(from, b.raw(), 2);
            EXPECT_EQ(b.values(), values(from + 10, 2));
            for (int twice = 0; twice < 2; ++twice) {
              comm.recv(from, a.raw(), 1);
              EXPECT_EQ(a.values(), values(from, 6));
              d.memory().fill(a.raw().data(), 0, 24);
            }
          }
        });
    EXPECT_THAT(thrown, testing::Each(""));
  }
}

// A message that never comes leaves the device's first stream in use, where the rank goes on to
// end.
TEST(Nccl, LostSenderLeavesTheFirstStreamInUse) {
  for (const Kind kind : {Kind::threads, Kind::tcp}) {
    const auto thrown =
        run_on_devices(kind, 3, false, [](Device& d, Communicator& comm, Transport& t) {
          const int me = comm.rank();
          const There mine(d, values(me, 4)), other(d, std::vector<float>(4));
          // The rank that goes may be gone before the others have waited for their first message.
          try {
            comm.send((me + 1) % 3, mine.raw(), 1);
            comm.recv((me + 2) % 3, other.raw(), 1);
            d.synchronize();
            if (me == 2) throw std::runtime_error("gone");
            comm.recv((me + 2) % 3, other.raw(), 2);
          } catch (const std::exception& e) {
            EXPECT_TRUE(dynamic_cast<CheckingDevice&>(d).on_first_stream()) << me;
            t.abort(e.what());
            throw;
          }
        });
    for (const std::string& what : thrown) EXPECT_THAT(what, testing::HasSubstr("gone"));
  }
}

// Training with sums in rank order is to the bit what it is on the host; NCCL's own order would be
// close.
TEST(Nccl, TrainsWithTheSameBits) {
  for (const char* name : {"Folded", "Zero3", "AllGather", "Ring", "Bf16"}) {
    for (const DeviceCase& c : device_cases()) {
      if (c.name != name) continue;
      const Program program = compile(c.model, c.workload, c.plan, Runtime::pleat);
      TrainConfig config = small_config(2);
      skew(config);
      const TrainResult here = train(program, config);
      config.make_device = [](Rank) { return std::make_unique<CheckingDevice>(true); };
      JobPart part = JobPart::of_threads(c.plan.world());
      part.use_nccl(fake(), {.ordered_sums = true});
      const TrainResult there = train(program, config, part);
      expect_same_bits(there.gradients, here.gradients);
      expect_same_bits(there.weights, here.weights);
      JobPart own_order = JobPart::of_threads(c.plan.world());
      own_order.use_nccl(fake());
      expect_close(train(program, config, own_order).gradients, here.gradients, 0.05);
    }
  }
}

// Messages between stages in every order that schedules send and receive them in, which is not the
// same: a receiver that took the next one for its own would wait for ever or read another's.
TEST(Nccl, StagesSendFromDeviceToDevice) {
  struct Pipeline {
    int stages, vpp;
    PipelineSchedule schedule;
  };
  for (const auto& [stages, vpp, schedule] :
       {Pipeline{2, 1, PipelineSchedule::one_f_one_b}, {2, 2, PipelineSchedule::one_f_one_b},
        {4, 1, PipelineSchedule::zb_h1}, {2, 2, PipelineSchedule::zb_v},
        {2, 2, PipelineSchedule::dualpipe_v}, {2, 1, PipelineSchedule::dualpipe}}) {
    Plan plan = fp32_plan(1, 1, stages);
    plan.vpp = vpp;
    plan.schedule = schedule;
    const Program program = compile(small_moe(), small_workload(), plan, Runtime::pleat);
    TrainConfig config = small_config(2);
    config.poison = false;
    skew(config);
    const TrainResult here = train(program, config);
    config.make_device = [](Rank) {
      return std::make_unique<CheckingDevice>(
          CheckingDevice::Options{.by_itself = true, .streams = true});
    };
    JobPart part = JobPart::of_threads(plan.world());
    part.use_nccl(fake(), {.ordered_sums = true});
    const TrainResult there = train(program, config, part);
    expect_same_bits(there.gradients, here.gradients);
    expect_same_bits(there.weights, here.weights);
  }
}

// A rank that fails while the others' devices wait for it in a collective.
TEST(Nccl, LostRankEndsTheOthersAndIsNamed) {
  const auto begin = std::chrono::steady_clock::now();
  TrainConfig config = small_config(3);
  config.make_device = [](Rank) { return std::make_unique<CheckingDevice>(true); };
  config.before_op = [](Rank rank, const Op& op, int step) {
    if (rank.value == 1 && step == 1 && family_of(op.kind) == OpKind::reduce_scatter) {
      throw std::runtime_error("its power went off");
    }
  };
  const Plan plan = tp_plan(2, 2, 4);
  JobPart part = JobPart::of_threads(plan.world());
  part.use_nccl(fake());
  try {
    static_cast<void>(
        train(compile(small_moe(), small_workload(), plan, Runtime::pleat), config, part));
    ADD_FAILURE() << "it trained";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("its power went off"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  // What the others say.
  for (const Kind kind : {Kind::threads, Kind::tcp}) {
    const auto thrown =
        run_on_devices(kind, 3, false, [](Device& d, Communicator& comm, Transport& transport) {
          const There data(d, values(comm.rank(), 4));
          try {
            comm.all_reduce(data.span());
            d.synchronize();
            if (comm.rank() == 2) throw std::runtime_error("gone");
            comm.all_reduce(data.span());
            d.synchronize();
          } catch (const std::exception& e) {
            transport.abort(e.what());
            throw;
          }
        });
    EXPECT_THAT(thrown, testing::ElementsAre("rank 2 failed: gone", "rank 2 failed: gone", "gone"));
  }
}

TEST(Nccl, SaysWhatIsMissing) {
  EXPECT_THAT([] { static_cast<void>(load_nccl("libno-nccl.so")); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("libno-nccl.so")));
  EXPECT_THAT([] { static_cast<void>(load_nccl("libm.so.6")); },
              testing::ThrowsMessage<std::runtime_error>("NCCL has no ncclGetVersion"));
}

}  // namespace
}  // namespace pleat::test
