// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two ranks save together on a simulated disk. The power goes at every pair of points that they can
// have reached in their shards, and before every call of the rest of a save.
#include <gmock/gmock.h>

#include <barrier>
#include <condition_variable>
#include <iostream>
#include <memory>

#include "backend/checkpoint/manifest.hpp"
#include "tests/backend/checkpoint/simulated_job.hpp"

namespace pleat {
namespace {

using test::Explored;
using test::Job;
using test::kRoot;
using test::PowerCut;
using test::SimulatedFiles;
using test::Tree;

constexpr int kRanks = 2;

// Whose shard a path is; -1: nobody's.
int owner_of(const std::string& path) {
  for (int r = 0; r < kRanks; ++r) {
    if (path.find(shard_name(r)) != std::string::npos) return r;
  }
  return -1;
}

// One rank waits before one of the changes to its shard until the other's shard is written.
class Hold {
 public:
  Hold(int rank, int before_change) : rank_(rank), before_change_(before_change) {}

  void arrive(const std::string& kind, const std::string& path) {
    const int owner = owner_of(path);
    if (owner < 0) return;
    std::unique_lock lock(mutex_);
    if (owner == rank_ && test::changes(kind) && changes_++ == before_change_) {
      wake_.wait(lock, [&] { return other_written_; });
    }
    if (owner != rank_ && kind == "look") {  // it is read back once it is written
      other_written_ = true;
      wake_.notify_all();
    }
  }
  [[nodiscard]] int changes() const { return changes_; }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  const int rank_, before_change_;
  int changes_ = 0;
  bool other_written_ = false;
};

// What the ranks share; the first one fills it.
struct Shared {
  std::barrier<> meet{kRanks};
  std::unique_ptr<SimulatedFiles> disk;
  std::vector<std::pair<const PowerCut*, Tree>> states;
  std::vector<PowerCut> cuts;
};

// A save of step 1, then one of step 2 with a rank held; cuts of the second. `rest`: also those
// that are not in a shard. `skip_sync`: rank 1's shard is not synchronised, which is to be found.
void explore(Job& job, int rank, Shared& shared, Hold& hold, bool rest, bool skip_sync,
             Explored& explored) {
  const bool first = rank == 0;
  if (first) {
    shared.disk = std::make_unique<SimulatedFiles>();
    shared.cuts.clear();
    shared.states.clear();
    prepare_root(kRoot, *shared.disk);
  }
  shared.meet.arrive_and_wait();
  SimulatedFiles& disk = *shared.disk;
  EXPECT_EQ(job.save(1, 1, disk), "");
  shared.meet.arrive_and_wait();
  if (first) {
    disk.arrive = [&](const std::string& kind, const std::string& path) {
      hold.arrive(kind, path);
    };
    disk.before = [&](const std::string& kind, const std::string& path) {
      const bool in_shard = owner_of(path) >= 0;
      if (test::changes(kind) && (rest || in_shard)) {
        shared.cuts.push_back({disk.nodes(), 1, 2, kind + " " + path});
      }
      const bool skip = skip_sync && owner_of(path) == 1 && kind == "synchronise";
      return skip ? SimulatedFiles::kNothing : 0;
    };
  }
  shared.meet.arrive_and_wait();
  const std::string error = job.save(2, 1, disk);
  shared.meet.arrive_and_wait();
  if (first) {
    EXPECT_EQ(error, "");
    disk.arrive = {};
    disk.before = {};
    if (skip_sync) shared.cuts.clear();  // the end is enough
    if (rest) shared.cuts.push_back({disk.nodes(), 2, 2, "the end"});
    for (const PowerCut& cut : shared.cuts) {
      for (const Tree& tree : test::after_power_cut(cut.nodes)) {
        shared.states.emplace_back(&cut, tree);
      }
    }
    explored.cuts += shared.cuts.size();
  }
  shared.meet.arrive_and_wait();
  for (const auto& [cut, tree] : shared.states) {
    if (first) shared.disk = std::make_unique<SimulatedFiles>(tree);
    shared.meet.arrive_and_wait();
    Explored mine;
    test::try_after(*cut, *shared.disk, 1, job, first ? explored : mine);
    shared.meet.arrive_and_wait();
    if (skip_sync && explored.broken > 0) return;  // found
  }
}

TEST(PowerCutOfTwoRanks, WhatWasSavedIsFoundAgain) {
  Explored explored;
  Shared shared;
  int changes[kRanks] = {};
  std::vector<std::pair<std::unique_ptr<Hold>, bool>> holds;
  const auto plan = [&](int rank, int before, bool rest) {
    holds.emplace_back(std::make_unique<Hold>(rank, before), rest);
  };
  plan(1, 0, true);  // the whole shard of rank 0 before that of rank 1, and the rest of the save
  test::in_a_job(kRanks, [&](Job& job, int rank) {
    explore(job, rank, shared, *holds[0].first, holds[0].second, false, explored);
    if (rank == 0) {
      changes[1] = holds[0].first->changes();
      for (int at = 0; at < changes[1]; ++at) plan(0, at, false);
    }
    shared.meet.arrive_and_wait();
    for (std::size_t i = 1; i < holds.size(); ++i) {
      explore(job, rank, shared, *holds[i].first, holds[i].second, false, explored);
    }
  });
  EXPECT_EQ(explored.broken, 0U) << explored.first;
  EXPECT_EQ(changes[1], 6);  // create, write twice, synchronise, close, rename
  std::cout << holds.size() << " orders, " << explored.cuts << " cuts, " << explored.states
            << " states of the disk\n";
}

TEST(PowerCutOfTwoRanks, FindsAShardThatIsNotSynchronised) {
  Explored explored;
  Shared shared;
  Hold hold(1, 0);
  test::in_a_job(kRanks, [&](Job& job, int rank) {
    explore(job, rank, shared, hold, true, true, explored);
  });
  EXPECT_GT(explored.broken, 0U);
}

}  // namespace
}  // namespace pleat
