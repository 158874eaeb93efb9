// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Processes whose devices wait in NCCL for one that is killed: all end and name it.
#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "tests/backend/device/checking_device.hpp"
#include "tests/backend/forked_processes.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat::test {
namespace {

using namespace forked;

// Of the stand-in, which connects no processes: nobody else comes to its collectives.
void leave_alone() {
  void* const library = dlopen(PLEAT_FAKE_NCCL, RTLD_NOW);
  reinterpret_cast<void (*)()>(dlsym(library, "fakeNcclLeaveAlone"))();
}

// Rank 1 is killed while the others' devices are in a collective with it, or before it comes
// to the one in which they meet.
void expect_loss_noticed(const Plan& plan, OpKind kind) {
  const Program program = compile(small_moe(), small_workload(), plan, Runtime::pleat);
  TcpJob job(std::vector<int>(static_cast<std::size_t>(plan.world()), 1));
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run_processes(plan.world(), [&](int process, std::string& say) {
    leave_alone();
    TrainConfig config = small_config(3);
    config.poison = false;
    config.make_device = [](Rank) {
      return std::make_unique<CheckingDevice>(
          CheckingDevice::Options{.by_itself = true, .streams = true});
    };
    config.before_op = [kind](Rank rank, const Op& op, int) {
      if (rank.value != 1 || family_of(op.kind) != kind) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(getpid(), SIGKILL);
    };
    JobPart part = job.join(process);
    part.use_nccl(load_nccl(PLEAT_FAKE_NCCL));
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
      return 5;
    }
    return 0;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (std::size_t r = 0; r < ended.size(); ++r) {
    if (r == 1) {
      EXPECT_EQ(ended[r].code, -SIGKILL);
      continue;
    }
    EXPECT_EQ(ended[r].code, 5) << r;
    EXPECT_EQ(ended[r].said, "rank 1 is lost: its process ended") << r;
  }
}

TEST(NcclProcesses, LostBeforeACollectiveEndsAllAndIsNamed) {
  expect_loss_noticed(fp32_plan(4), OpKind::reduce_scatter);
}

TEST(NcclProcesses, LostBetweenStagesEndsAllAndIsNamed) {
  expect_loss_noticed(fp32_plan(1, 1, 2), OpKind::recv);
}

}  // namespace
}  // namespace pleat::test
