// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/communicator_bytes.hpp"

#include "calibration/microbench/rank_work.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kUsed = std::int64_t{1} << 20U;

}  // namespace

std::int64_t communicator_bytes(RankRunner& runner, int ranks) {
  std::int64_t before = 0, after = 0;
  const auto note = [&](int rank, Communicator& comm, std::int64_t& bytes) {
    Device& device = runner.device(rank);
    device.synchronize();
    comm.barrier();  // no rank is at work with another's memory
    if (rank == 0) bytes = device.used_bytes();
    comm.barrier();
  };
  const auto use = [&](int rank, Communicator& comm) {
    for (const Collective kind :
         {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
      RankWork work(comm, runner.device(rank),
                    {.kind = kind, .group = ranks, .ranks = ranks, .bytes = kUsed});
      work.run();
      runner.device(rank).synchronize();
      comm.barrier();
    }
  };
  const RankGroups groups{.ranks = ranks, .group = ranks};
  runner.run(groups, [&](int rank, Communicator& comm) {
    use(rank, comm);  // what is loaded once is there
    note(rank, comm, before);
  });
  runner.run({.ranks = ranks, .group = ranks, .fresh = true}, [&](int rank, Communicator& comm) {
    use(rank, comm);
    note(rank, comm, after);
  });
  return after - before;
}

}  // namespace pleat
