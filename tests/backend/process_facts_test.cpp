// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which process this is, from flags and environments as launchers set them.
#include "backend/launch/process_facts.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

using Environment = std::map<std::string, std::string>;

ProcessFacts facts(const Environment& e, const ProcessFlags& flags = {}) {
  return process_facts(flags, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = e.find(name);
    return found == e.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string facts_refusal(const Environment& e, const ProcessFlags& flags = {}) {
  try {
    static_cast<void>(facts(e, flags));
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    const Diagnostic& d = error.diagnostics().front();
    return d.where + ": " + d.message;
  }
  return "nothing";
}

const Environment kTorchrun = {{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"MASTER_ADDR", "n1"},
                               {"MASTER_PORT", "29511"},
                               {"TORCHELASTIC_RUN_ID", "x"}};
const Environment kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                             {"OMPI_COMM_WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                             {"PMIX_RANK", "2"},
                             {"PMIX_NAMESPACE", "1"}};
const Environment kSrun = {{"SLURM_PROCID", "3"},  {"SLURM_STEP_NUM_TASKS", "16"},
                           {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "3"},
                           {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NODELIST", "gpu[003-005,7],x"}};

Environment operator+(Environment a, const Environment& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

TEST(ProcessFacts, NothingIsOneProcess) {
  const ProcessFacts f = facts({{"HOME", "x"}, {"RANK", ""}});
  EXPECT_EQ(f.launcher, Launcher::none);
  EXPECT_EQ(f.processes, 1);
  EXPECT_FALSE(f.rendezvous);
  EXPECT_EQ(to_text(f), "one process (no launcher)");
}

TEST(ProcessFacts, Torchrun) {
  const ProcessFacts f = facts(kTorchrun);
  EXPECT_EQ(f.launcher, Launcher::torchrun);
  EXPECT_EQ(f.process, 5);
  EXPECT_EQ(f.processes, 8);
  EXPECT_EQ(f.local, 1);
  EXPECT_FALSE(f.under_open_mpi);
  EXPECT_EQ(to_text(f),
            "process 5 of 8 (torchrun: RANK=5, WORLD_SIZE=8), meeting at n1:29511 (MASTER_ADDR, "
            "MASTER_PORT)");
}

TEST(ProcessFacts, TorchrunsOwnStoreKeepsItsPort) {
  const ProcessFacts f = facts(kTorchrun + Environment{{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(f.rendezvous, (Address{"n1", 29512}));
}

TEST(ProcessFacts, OpenMpi) {
  const ProcessFacts f = facts(kMpirun);
  EXPECT_EQ(f.launcher, Launcher::open_mpi);
  EXPECT_TRUE(f.under_open_mpi);
  EXPECT_EQ(to_text(f),
            "process 2 of 4 (Open MPI: OMPI_COMM_WORLD_RANK=2, OMPI_COMM_WORLD_SIZE=4), meeting at "
            "127.0.0.1:29500 (one host)");
}

TEST(ProcessFacts, JobFilesThatCopyOpenMpisNumbers) {
  const ProcessFacts f = facts(kMpirun + Environment{{"RANK", "2"},
                                                     {"WORLD_SIZE", "4"},
                                                     {"MASTER_ADDR", "n1"},
                                                     {"MASTER_PORT", "29500"}});
  EXPECT_EQ(f.launcher, Launcher::torchrun);
  EXPECT_TRUE(f.under_open_mpi);
  EXPECT_EQ(f.local_processes, 4);
}

TEST(ProcessFacts, Pmi) {
  const ProcessFacts f = facts(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(f.launcher, Launcher::pmi);
  EXPECT_EQ(f.process, 1);
  EXPECT_EQ(f.rendezvous, (Address{"127.0.0.1", 29500}));
}

TEST(ProcessFacts, PmixTakesItsSizeFromSlurm) {
  const ProcessFacts f = facts(kSrun + Environment{{"PMIX_RANK", "3"}});
  EXPECT_EQ(f.launcher, Launcher::pmix);
  EXPECT_EQ(f.from, "PMIX_RANK=3, SLURM_NTASKS=16");
}

TEST(ProcessFacts, Slurm) {
  const ProcessFacts f = facts(kSrun);
  EXPECT_EQ(f.launcher, Launcher::slurm);
  EXPECT_EQ(to_text(f),
            "process 3 of 16 (Slurm: SLURM_PROCID=3, SLURM_STEP_NUM_TASKS=16), meeting at "
            "gpu003:29500 (SLURM_JOB_NODELIST)");
  Environment batch = kSrun;  // the batch script itself is no task of a step
  batch.erase("SLURM_STEP_ID");
  EXPECT_EQ(facts(batch).launcher, Launcher::none);
}

TEST(ProcessFacts, TheInnermostLauncherCounts) {
  EXPECT_EQ(facts(kSrun + kTorchrun).launcher, Launcher::torchrun);
  EXPECT_EQ(facts(kSrun + kMpirun).launcher, Launcher::open_mpi);
  // One torchrun a node, started by mpirun: process 5 of 8 on the node that is process 1 of 2.
  const Environment nodes = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const ProcessFacts f = facts(nodes + kTorchrun);
  EXPECT_EQ(f.launcher, Launcher::torchrun);
  EXPECT_FALSE(f.under_open_mpi);
  const ProcessFacts flags = facts(kSrun + kTorchrun, {"7/16", "[::1]:4000"});
  EXPECT_EQ(flags.launcher, Launcher::flags);
  EXPECT_EQ(to_text(flags),
            "process 7 of 16 (flags: --process 7/16), meeting at [::1]:4000 (--rendezvous)");
}

TEST(ProcessFacts, ContradictionsNameBoth) {
  EXPECT_EQ(facts_refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
            "RANK: RANK=4 contradicts WORLD_SIZE=4");
  EXPECT_EQ(facts_refusal({{"RANK", "0"}}), "WORLD_SIZE: RANK is set, but WORLD_SIZE is not");
  EXPECT_EQ(facts_refusal({{"WORLD_SIZE", "2"}}), "RANK: WORLD_SIZE is set, but RANK is not");
  EXPECT_EQ(facts_refusal({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), "RANK: '-1' is no number");
  EXPECT_EQ(facts_refusal({{"RANK", "0"}, {"WORLD_SIZE", "123456789"}}),
            "WORLD_SIZE: '123456789' is no number");
  EXPECT_EQ(facts_refusal(kTorchrun + Environment{{"LOCAL_RANK", "4"}}),
            "LOCAL_RANK: LOCAL_RANK=4 contradicts LOCAL_WORLD_SIZE=4");
  EXPECT_EQ(facts_refusal(kTorchrun + Environment{{"LOCAL_WORLD_SIZE", "9"}}),
            "LOCAL_WORLD_SIZE: LOCAL_WORLD_SIZE=9 contradicts WORLD_SIZE=8");
  // Left over from a shell: all four processes would take themselves for the only one.
  EXPECT_EQ(facts_refusal(kMpirun + Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}}),
            "WORLD_SIZE: WORLD_SIZE says 1 processes, OMPI_COMM_WORLD_SIZE says 4");
  EXPECT_EQ(facts_refusal(kMpirun + Environment{{"RANK", "0"}, {"WORLD_SIZE", "4"}}),
            "RANK: RANK says process 0, OMPI_COMM_WORLD_RANK says 2");
  EXPECT_EQ(facts_refusal(kMpirun, {"0/2", ""}),
            "--process: --process says 2 processes, OMPI_COMM_WORLD_SIZE says 4");
  EXPECT_EQ(facts_refusal(kTorchrun + Environment{{"MASTER_PORT", "0"}}),
            "MASTER_PORT: 0 is no port");
  EXPECT_EQ(facts_refusal({}, {"4/4", ""}), "--process: '4/4' is no place among processes");
  EXPECT_EQ(facts_refusal({}, {"two", ""}), "--process: 'two' is no place among processes");
  EXPECT_EQ(facts_refusal({}, {"", "node1"}), "--rendezvous: 'node1' is not host:port");
}

TEST(ProcessFacts, FirstHostOfNodeLists) {
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n1,n2"), "n1");
  EXPECT_EQ(first_host("gpu[003-005,7],login"), "gpu003");
  EXPECT_EQ(first_host("r[1,3]c[02-9]-ib,x"), "r1c02-ib");
  EXPECT_EQ(first_host("broken[1"), "broken1");
  EXPECT_EQ(first_host(""), "");
}

TEST(Addresses, AreReadAndWritten) {
  EXPECT_EQ(parse_address("node1:29500"), (Address{"node1", 29500}));
  EXPECT_EQ(parse_address("[fe80::1]:1"), (Address{"fe80::1", 1}));
  EXPECT_EQ(to_text(Address{"fe80::1", 1}), "[fe80::1]:1");
  for (const char* wrong : {"", "node1", ":1", "node1:", "node1:0", "node1:65536", "node1:1x"}) {
    EXPECT_THROW(static_cast<void>(parse_address(wrong)), std::runtime_error) << wrong;
  }
}

TEST(Environment, DefaultsLeaveWhatTheUserHasSet) {
  set_default_variable("PLEAT_TEST_DEFAULT", "32");
  EXPECT_EQ(environment_variable("PLEAT_TEST_DEFAULT"), "32");
  set_default_variable("PLEAT_TEST_DEFAULT", "8");
  EXPECT_EQ(environment_variable("PLEAT_TEST_DEFAULT"), "32");
}

}  // namespace
}  // namespace pleat
