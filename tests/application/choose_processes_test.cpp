// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How ranks are spread over processes: flags, launchers, and what does not go together.
#include <gtest/gtest.h>

#include "application/processes/processes.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

ProcessFacts launched(int process, int processes, bool open_mpi = false) {
  ProcessFacts f;
  f.launcher = open_mpi ? Launcher::open_mpi : Launcher::torchrun;
  f.process = process;
  f.processes = processes;
  f.under_open_mpi = open_mpi;
  f.rendezvous = Address{"n1", 29500};
  f.from = "RANK=…";
  f.rendezvous_from = "MASTER_ADDR";
  return f;
}

ProcessOptions options(const std::string& transport, int ranks = 0) {
  ProcessOptions o;
  o.transport = transport;
  o.ranks = ranks;
  return o;
}

std::string chosen(const ProcessOptions& o, const ProcessFacts& f, int world, bool has_mpi = true) {
  try {
    return to_text(choose_processes(o, f, world, has_mpi));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    return e.diagnostics().front().where + ": " + e.diagnostics().front().message;
  }
}

TEST(Processes, WithoutALauncher) {
  const ProcessFacts none;
  EXPECT_EQ(chosen(options("auto"), none, 4), "4 threads of this process");
  EXPECT_EQ(chosen(options("auto"), none, 1), "1 thread of this process");
  EXPECT_EQ(chosen(options("threads", 4), none, 4), "4 threads of this process");
  EXPECT_EQ(chosen(options("tcp"), none, 4), "4 processes of 1 rank over TCP, started here");
  EXPECT_EQ(chosen(options("auto", 2), none, 4), "2 processes of 2 ranks over TCP, started here");
  EXPECT_EQ(chosen(options("tcp", 4), none, 4), "4 threads of this process");
  EXPECT_EQ(chosen(options("tcp"), none, 1), "1 thread of this process");
}

TEST(Processes, OfALauncher) {
  EXPECT_EQ(chosen(options("auto"), launched(2, 4, true), 4),
            "4 processes of 1 rank over MPI: process 2 of 4 (Open MPI: RANK=…)");
  EXPECT_EQ(chosen(options("auto"), launched(1, 2), 8),
            "2 processes of 4 ranks over TCP: process 1 of 2 (torchrun: RANK=…), meeting at "
            "n1:29500 (MASTER_ADDR)");
  const auto spread = [](const ProcessOptions& o, const ProcessFacts& f, int world, bool has_mpi) {
    return choose_processes(o, f, world, has_mpi).spread;
  };
  EXPECT_EQ(spread(options("tcp"), launched(0, 4, true), 4, true), Spread::tcp);
  EXPECT_EQ(spread(options("auto"), launched(0, 4, true), 4, false), Spread::tcp);
  EXPECT_EQ(spread(options("mpi"), launched(0, 4), 4, true), Spread::mpi);
  EXPECT_EQ(spread(options("auto"), launched(0, 1), 4, true), Spread::threads);
  EXPECT_EQ(choose_processes(options("tcp", 3), launched(0, 2), 4, true).ranks, 3);
}

TEST(Processes, WhatDoesNotGoTogether) {
  const ProcessFacts none;
  EXPECT_EQ(chosen(options("mpi"), none, 4, false), "--transport: this build has no MPI");
  EXPECT_EQ(chosen(options("mpi"), none, 4),
            "--transport: mpi needs a launcher, and none started this process");
  EXPECT_EQ(
      chosen(options("threads", 2), none, 4),
      "--ranks: 2 contradicts --transport threads: the plan's 4 ranks are all in one process");
  EXPECT_EQ(chosen(options("tcp", 3), none, 4),
            "--ranks: the plan's 4 ranks do not split into processes of 3");
  EXPECT_EQ(chosen(options("auto", 8), none, 4),
            "--ranks: the plan's 4 ranks do not split into processes of 8");
  EXPECT_EQ(
      chosen(options("threads"), launched(0, 4), 4),
      "--transport: threads contradicts RANK=…: each of 4 processes would train the whole job");
  EXPECT_EQ(chosen(options("auto"), launched(0, 3), 4),
            "--gpus: the plan's 4 ranks do not split over 3 processes");
  EXPECT_EQ(chosen(options("auto"), launched(0, 8), 4),
            "--gpus: the plan's 4 ranks do not split over 8 processes");
  EXPECT_EQ(chosen(options("auto", 2), launched(0, 1), 4),
            "--ranks: 2 contradicts RANK=…: the plan has 4 ranks");
  ProcessFacts nowhere = launched(0, 2);
  nowhere.rendezvous.reset();
  EXPECT_EQ(chosen(options("auto"), nowhere, 4),
            "--rendezvous: nothing says where process 0 listens");
}

}  // namespace
}  // namespace pleat
