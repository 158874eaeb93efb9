// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Saves on a simulated disk: the power cut at every call, with every disk that it may leave, and an
// error at every call. What was saved is found again, to the bit.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <iostream>

#include "backend/checkpoint/read_file.hpp"
#include "backend/checkpoint/safetensors.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/simulated_files.hpp"
#include "tests/backend/checkpoint/simulated_job.hpp"

namespace pleat {
namespace {

using test::Explored;
using test::Job;
using test::kRoot;
using test::PowerCut;
using test::SimulatedFiles;
using test::Tree;
using ::testing::HasSubstr;

void in_a_job(const std::function<void(Job&)>& body) {
  test::in_a_job(1, [&](Job& job, int) { body(job); });
}

using Mutation = std::function<int(const std::string& kind, const std::string& path)>;

// Saves of steps 1, 2, 3, ...; the power goes before every call of them and after the last.
Explored explore(const std::vector<int>& steps, int keep, const Mutation& mutation = {}) {
  Explored explored;
  in_a_job([&](Job& job) {
    std::vector<PowerCut> cuts;
    SimulatedFiles disk;
    int done = 0, begun = 0;
    disk.before = [&](const std::string& kind, const std::string& path) {
      if (test::changes(kind)) cuts.push_back({disk.nodes(), done, begun, kind + " " + path});
      return mutation ? mutation(kind, path) : 0;
    };
    prepare_root(kRoot, disk);
    for (const int step : steps) {
      begun = step;
      const std::string error = job.save(step, keep, disk);
      if (!mutation) {
        EXPECT_EQ(error, "");
      }
      if (error.empty()) done = step;
    }
    cuts.push_back({disk.nodes(), done, begun, "the end"});
    for (const PowerCut& cut : cuts) {
      ++explored.cuts;
      for (const Tree& tree : test::after_power_cut(cut.nodes)) {
        SimulatedFiles left(tree);
        test::try_after(cut, left, keep, job, explored);
        if (mutation && explored.broken > 0) return;  // found
      }
    }
  });
  return explored;
}

TEST(PowerCut, WhatWasSavedIsFoundAgain) {
  for (const auto& [steps, keep] : std::vector<std::pair<std::vector<int>, int>>{
           {{1, 2}, 1}, {{1, 2, 3}, 2}, {{1, 1}, 1}, {{1, 2, 2}, 2}}) {
    const Explored e = explore(steps, keep);
    EXPECT_EQ(e.broken, 0U) << e.first;
    EXPECT_GT(e.states, e.cuts);
    std::cout << steps.size() << " saves, keep " << keep << ": " << e.cuts << " cuts, " << e.states
              << " states of the disk\n";
  }
}

bool ends(const std::string& path, const std::string& with) { return path.ends_with(with); }

// Each way of saving wrongly is found.
TEST(PowerCut, FindsWhatIsLeftOut) {
  const auto skips = [](auto which) {
    return [which](const std::string& kind, const std::string& path) {
      return kind == "synchronise" && which(path) ? SimulatedFiles::kNothing : 0;
    };
  };
  const auto shard = [](const std::string& p) { return p.find("shard_") != std::string::npos; };
  const auto manifest = [](const std::string& p) {
    return p.find("manifest") != std::string::npos;
  };
  const auto written = [](const std::string& p) { return ends(p, ".tmp.0"); };
  const auto root = [](const std::string& p) { return p == kRoot; };
  const auto around = [](const std::string& p) { return p == "/job"; };
  EXPECT_GT(explore({1, 2}, 1, skips(shard)).broken, 0U);
  EXPECT_GT(explore({1, 2}, 1, skips(manifest)).broken, 0U);
  EXPECT_GT(explore({1, 2}, 1, skips(written)).broken, 0U);
  EXPECT_GT(explore({1, 2}, 1, skips(root)).broken, 0U);
  EXPECT_GT(explore({1, 2}, 1, skips(around)).broken, 0U);
}

// An error at every call: it is named, what was saved before stays, and the next save works.
TEST(FaultyDisk, AnErrorAtAnyCallCostsThatSaveOnly) {
  std::size_t faults = 0, failures = 0;
  for (const int error : {EIO, ENOSPC, EINTR, SimulatedFiles::kShort}) {
    for (const int second : {1, 2}) in_a_job([&](Job& job) {  // 1: it replaces the first
      for (int at = 0;; ++at) {
        SimulatedFiles disk;
        prepare_root(kRoot, disk);
        ASSERT_EQ(job.save(1, 1, disk), "");
        int call = 0;
        bool hit = false;
        disk.before = [&](const std::string& kind, const std::string&) {
          if (error < 0 && kind != "write") return 0;
          if (error == EINTR && kind != "write" && kind != "read") return 0;
          hit |= call == at;
          return call++ == at ? error : 0;
        };
        const std::string said = job.save(second, 1, disk);
        disk.before = {};
        if (!hit) break;
        ++faults;
        if (error < 0 || error == EINTR) {
          EXPECT_EQ(said, "");
        }
        if (!said.empty()) {
          ++failures;
          EXPECT_THAT(said, HasSubstr(kRoot));
          EXPECT_THAT(said, HasSubstr(std::strerror(error)));
        }
        const int found = job.restored(disk);
        EXPECT_TRUE(found == second || (!said.empty() && found == 1)) << at << " " << said;
        for (const bool restarted : {false, true}) {
          if (restarted) prepare_root(kRoot, disk);
          for (const Tree& tree : test::after_power_cut(disk.nodes())) {
            SimulatedFiles left(tree);
            const int after = job.restored(left);
            EXPECT_TRUE(after == second || (!said.empty() && after == 1)) << at << " " << said;
          }
        }
        EXPECT_EQ(job.save(3, 1, disk), "");
        EXPECT_EQ(job.restored(disk), 3);
      }
    });
  }
  std::cout << faults << " faults, " << failures << " saves failed\n";
  EXPECT_GT(failures, 50U);
}

// What is on the disk is not what was saved, though every call succeeded: training stops.
TEST(ReadBack, AnAlteredShardStopsTheRun) {
  in_a_job([](Job& job) {
    SimulatedFiles disk;
    prepare_root(kRoot, disk);
    ASSERT_EQ(job.save(1, 1, disk), "");
    disk.before = [](const std::string& kind, const std::string& path) {
      const bool shard = kind == "write" && path.find("shard_") != std::string::npos;
      return shard ? SimulatedFiles::kNothing : 0;
    };
    EXPECT_THAT(job.save(2, 1, disk), HasSubstr("cannot be read back, so training stops"));
    EXPECT_EQ(job.code, ExitCode::verification);
    disk.before = {};
    EXPECT_EQ(job.restored(disk), 1);
  });
}

TEST(ReadBack, ASaveThatLacksATensorStopsTheRun) {
  in_a_job([](Job& job) {
    SimulatedFiles disk;
    prepare_root(kRoot, disk);
    ASSERT_EQ(job.save(1, 1, disk), "");
    disk.alter = [](const std::string& path, std::string& bytes) {
      if (path.find("manifest") == std::string::npos) return;
      bytes.replace(bytes.find("exp_avg/"), 8, "another/");
    };
    const std::string said = job.save(2, 1, disk);
    EXPECT_THAT(said, HasSubstr("cannot be read back, so training stops"));
    EXPECT_EQ(job.code, ExitCode::verification);
    EXPECT_THAT(said, HasSubstr("exp_avg/"));
    disk.alter = {};
    EXPECT_EQ(job.restored(disk), 1);
    EXPECT_EQ(job.save(3, 1, disk), "");
  });
}

TEST(ReadFile, AFileThatShrinksIsAnError) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "f", std::string(100, 'x'));
  const ReadFile file(folder / "f");
  std::filesystem::resize_file(folder / "f", 50);
  std::vector<TensorEntry> tensors{{"t", ElementType::u8, {8000}, 0, 0}};
  const std::string header = make_safetensors_header(tensors, {});
  test::write_bytes(folder / "w", header + std::string(8000, 'x'));
  const Safetensors weights(folder / "w");
  std::filesystem::resize_file(folder / "w", header.size() + 100);
  const auto expect_shrunk = [&](const std::string& name, auto read) {
    try {
      read();
      FAIL() << name;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::device_or_io);
      EXPECT_THAT(e.what(), HasSubstr(folder / name));
      EXPECT_THAT(e.what(), HasSubstr("the file shrank while it was read"));
    }
  };
  expect_shrunk("f", [&] { (void)file.all(); });
  expect_shrunk("w", [&] { (void)weights.bytes(weights.tensors().front()); });
}

}  // namespace
}  // namespace pleat
