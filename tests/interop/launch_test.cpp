// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Job files: shellcheck finds nothing, foreign text stays text.
#include "interop/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/flag_table.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// What RELIABILITY asks for, and what a layout or a path may hold.
const std::vector<std::string> kHostile{"$(touch pwned)",
                                        "`touch pwned`",
                                        "'; touch pwned; '",
                                        "\"; touch pwned; \"",
                                        "a b",
                                        "~",
                                        "${IFS}touch${IFS}pwned",
                                        "| touch pwned",
                                        "& touch pwned",
                                        "> pwned",
                                        "# no",
                                        "--wrap=touch",
                                        "{{",
                                        "<script>",
                                        "no",
                                        "on",
                                        "1e3",
                                        "*",
                                        "!!python/object",
                                        "$(POD_IP)",
                                        "\\",
                                        "%x",
                                        "ünïcode"};

PlanDocument sample() {
  PlanDocument d;
  d.model_name = "mixtral-8x7b";
  d.model = load_model("mixtral-8x7b").model;
  d.cluster = "h100-sxm";
  d.gpus = 64;
  d.workload = {.seq_len = 4096, .global_batch = 256};
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 8, .pp = 4};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 2};
  d.plan.layout = "Et*8|t*8|t*8|t*8L";
  return d;
}

struct Job {
  PlanDocument document = sample();
  Exported exported = export_plan(Target::megatron, {document}, "plan");
  Launch launch{
      .exported = exported, .title = "a plan", .gpus = 64, .gpus_per_node = 8, .slots = {}};
};

// The same with `pleat train`.
struct PleatJob {
  explicit PleatJob(bool on_gpus = false)
      : exported(pleat_arguments("plans/it's mine.json", on_gpus, "1.2")) {
    launch.on_gpus = on_gpus;
  }
  Exported exported;
  Launch launch{.exported = exported,
                .trainer = Trainer::pleat,
                .title = "a plan",
                .gpus = 64,
                .gpus_per_node = 8,
                .slots = {}};
};

fs::path folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path path =
      fs::path(::testing::TempDir()) / (std::string("pleat-launch-") + info->name());
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_all);
}

std::string read_path(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// pleat.sh installs it; without it there is nothing to say.
bool has_shellcheck() { return run("command -v shellcheck >/dev/null") == 0; }

void expect_clean(const std::string& script) {
  const fs::path at = folder() / "job.sh";
  write(at, script);
  EXPECT_EQ(run("bash -n " + at.string()), 0);
  const std::string report = at.string() + ".report";
  EXPECT_EQ(run("shellcheck " + at.string() + " >" + report), 0) << read_path(report);
}

TEST(Launch, ShellcheckFindsNothing) {
  if (!has_shellcheck()) GTEST_SKIP() << "shellcheck is not installed";
  Job job;
  expect_clean(slurm_text(job.launch));
  expect_clean(mpirun_text(job.launch));
  expect_clean(export_text(Target::megatron, job.exported, "a plan"));
  expect_clean(export_text(Target::megatron_bridge,
                           export_plan(Target::megatron_bridge, {job.document}, "plan"), "a plan"));
  job.launch.slots.image = "registry/image:1";
  job.launch.slots.mounts = "/a:/b,/c:/d";
  job.launch.slots.segment = 4;
  job.launch.slots.hostfile = "hosts with blanks";
  job.launch.slots.partition = "gpu";
  job.launch.hybridep = true;
  job.launch.nvlink_domain = 72;
  for (const std::string& word : kHostile) job.launch.slots.extra.push_back(word);
  expect_clean(slurm_text(job.launch));
  expect_clean(mpirun_text(job.launch));
  job.launch.slots.engine = ContainerEngine::apptainer;
  expect_clean(slurm_text(job.launch));
  for (const bool on_gpus : {false, true}) {
    PleatJob pleat(on_gpus);
    pleat.launch.slots.hostfile = "hosts with blanks";
    for (const std::string& word : kHostile) pleat.launch.slots.extra.push_back(word);
    expect_clean(slurm_text(pleat.launch));
    expect_clean(mpirun_text(pleat.launch));
  }
}

TEST(Launch, MpirunStartsPleat) {
  const std::string text = mpirun_text(PleatJob().launch);
  EXPECT_THAT(text, HasSubstr("PLEAT_ARGS=(\n"
                              "  --plan 'plans/it'\\''s mine.json'\n"
                              ")\n"));
  EXPECT_THAT(text, HasSubstr("\nlauncher=(mpirun -N 8 --oversubscribe --bind-to none)\n"));
  EXPECT_THAT(text, HasSubstr("\nexec \"${launcher[@]}\" -np 64 \\\n"
                              "  pleat train --resume \"${PLEAT_ARGS[@]}\" \"$@\"\n"));
}

TEST(Launch, PleatOnGpusAsksForThem) {
  PleatJob job(true);
  const std::string slurm = slurm_text(job.launch), mpirun = mpirun_text(job.launch);
  EXPECT_THAT(slurm, HasSubstr("#SBATCH --gpus-per-node=8\n"));
  EXPECT_THAT(mpirun, HasSubstr("\nlauncher=(mpirun -N 8 --bind-to none)\n"));
  for (const std::string& text : {slurm, mpirun}) {
    EXPECT_THAT(text, HasSubstr("\n  --device cuda\n  --collectives nccl\n"));
    EXPECT_THAT(text, HasSubstr("export NCCL_DEBUG=WARN\n"));
    EXPECT_THAT(text, HasSubstr("nvidia-smi --list-gpus"));
    EXPECT_THAT(text, Not(HasSubstr("TORCH")));
  }
  job.launch.slots.image = "registry/pleat:1";
  for (const JobKind kind :
       {JobKind::train_job, JobKind::pytorch_job, JobKind::job_set, JobKind::mpi_job}) {
    job.launch.slots.kind = kind;
    EXPECT_THAT(kubernetes_text(job.launch), HasSubstr("\"nvidia.com/gpu\": 8"));
  }
}

TEST(Launch, SlurmStartsPleat) {
  PleatJob job;
  const std::string text = slurm_text(job.launch);
  EXPECT_THAT(text, HasSubstr("#SBATCH --ntasks-per-node=8\n"));
  EXPECT_THAT(text, HasSubstr("\nsrun --kill-on-bad-exit=0 --label --cpu-bind=none \\\n"
                              "  pleat train --resume \"${PLEAT_ARGS[@]}\" \"$@\" &\n"));
  EXPECT_THAT(text,
              HasSubstr("PLEAT_JOB_SECRET=\"$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')\"\n"
                        "export PLEAT_JOB_SECRET\n"));
  EXPECT_THAT(text, Not(HasSubstr("nvidia-smi")));
  EXPECT_THAT(text, Not(HasSubstr("NCCL")));
  EXPECT_THAT(text, Not(HasSubstr("python3")));
  EXPECT_THAT(text, Not(HasSubstr("gpus-per-node")));
}

// Every pod is one process, and is told which.
TEST(Launch, KubernetesStartsPleat) {
  PleatJob job;
  job.launch.slots.image = "registry/pleat:1";
  const std::pair<JobKind, const char*> kinds[] = {
      {JobKind::train_job, "$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"},
      {JobKind::pytorch_job, "nprocPerNode: \"1\""},
      {JobKind::job_set, "$(JOB_COMPLETION_INDEX)/8"},
      {JobKind::mpi_job, "--oversubscribe"}};
  for (const auto& [kind, place] : kinds) {
    job.launch.slots.kind = kind;
    const std::string text = kubernetes_text(job.launch);
    EXPECT_THAT(text, HasSubstr(place));
    EXPECT_THAT(text, HasSubstr("plans/it's mine.json"));
    // MPI hands the secret on by itself.
    EXPECT_EQ(text.find("secretKeyRef") != std::string::npos, kind != JobKind::mpi_job) << text;
    EXPECT_THAT(text, Not(HasSubstr("nvidia.com")));
    EXPECT_THAT(text, Not(HasSubstr("torchrun")));
    EXPECT_THAT(text, Not(HasSubstr("python3")));
  }
}

TEST(Launch, SlurmDirectives) {
  Job job;
  job.launch.slots.name = "moe";
  job.launch.slots.account = "nlp";
  const std::string text = slurm_text(job.launch);
  for (const char* line :
       {"#SBATCH --job-name=moe\n", "#SBATCH --account=nlp\n", "#SBATCH --nodes=8\n",
        "#SBATCH --ntasks-per-node=8\n", "#SBATCH --exclusive\n", "#SBATCH --requeue\n",
        "#SBATCH --signal=B:USR1@300\n", "#SBATCH --time=24:00:00\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("segment")));
  EXPECT_THAT(text, HasSubstr("--exit-signal-handler"));
  EXPECT_THAT(text, HasSubstr("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
}

// A fake srun, mpirun and nvidia-smi run the script's own words; Megatron-LM is a script that
// prints its arguments and ends with $EXIT_CODE.
fs::path fake_launchers() {
  const fs::path at = folder();
  fs::create_directories(at / "bin");
  write(at / "bin/srun",
        "#!/bin/bash\nwhile [[ \"$1\" == --* ]]; do shift; done\n"
        "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=1 exec \"$@\"\n");
  write(at / "bin/mpirun",
        "#!/bin/bash\nwhile [[ \"$1\" == -* ]]; do case \"$1\" in --bind-to|-N|-np|-x|--hostfile) "
        "shift 2;; *) shift;; esac; done\n"
        "export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_SIZE=1\n"
        "exec \"$@\"\n");
  write(at / "bin/nvidia-smi", "#!/bin/bash\nfor i in 1 2 3 4 5 6 7 8; do echo GPU $i; done\n");
  write(at / "bin/scontrol", "#!/bin/bash\necho \"$@\" >>scontrol\necho localhost\n");
  write(at / "bin/python3",
        "#!/bin/bash\nprintf '%s\\n' \"$@\" >arguments\nenv >environment\n"
        "exit \"${EXIT_CODE:-0}\"\n");
  return at;
}

// With every variable that only the user knows.
const std::string kKnown =
    "DATA_PATH='0.3 a 0.7 b' TOKENIZER_MODEL=gpt2 CHECKPOINTS='my ckpt' TRAIN_ITERS=10 LR=1e-4 ";

int run_job(const fs::path& at, const std::string& variables, const std::string& words) {
  return run("cd " + at.string() + " && PATH=" + (at / "bin").string() +
             ":$PATH SLURM_JOB_ID=1 SLURM_JOB_NAME=job SLURM_JOB_NUM_NODES=1 "
             "SLURM_JOB_NODELIST=x " +
             variables + " ./job.sh " + words + " >out 2>&1");
}

const std::string kFromVariables =
    "--data-path\n0.3\na\n0.7\nb\n--tokenizer-model\ngpt2\n--save\nmy ckpt\n--load\nmy ckpt\n"
    "--save-interval\n500\n--train-iters\n10\n--lr\n1e-4\n";

// The node says that GPU 0 is next to its second NUMA node.
TEST(Launch, RanksRunNextToTheirGpu) {
  const fs::path at = fake_launchers();
  write(at / "bin/nvidia-smi",
        "#!/bin/bash\nif [[ $1 == -i ]]; then echo 00000000:1B:00.0; exit; fi\n"
        "for i in 1 2 3 4 5 6 7 8; do echo GPU $i; done\n");
  write(at / "bin/cat",
        "#!/bin/bash\n[[ $1 == /sys/bus/pci/devices/0000:1b:00.0/numa_node ]] && exec echo 1\n"
        "exec /bin/cat \"$@\"\n");
  write(at / "bin/numactl",
        "#!/bin/bash\necho \"$1 $2\" >bound\nshift 2\nexec \"$@\"\n");
  Job job;
  write(at / "job.sh", slurm_text(job.launch));
  EXPECT_EQ(run_job(at, kKnown, ""), 0) << read_path(at / "out");
  EXPECT_EQ(read_path(at / "bound"), "--cpunodebind=1 --membind=1\n");
  EXPECT_THAT(read_path(at / "environment"), HasSubstr("RANK=0\n"));
  fs::remove(at / "bound");
  EXPECT_EQ(run_job(at, kKnown + "BIND=0 ", ""), 0) << read_path(at / "out");
  EXPECT_FALSE(fs::exists(at / "bound"));
  job.launch.binds = false;
  write(at / "job.sh", slurm_text(job.launch));
  EXPECT_EQ(run_job(at, kKnown, ""), 0) << read_path(at / "out");
  EXPECT_FALSE(fs::exists(at / "bound"));
}

// Whatever is hostile has to arrive as it was, and nothing else may happen.
TEST(Launch, HostileTextArrivesAsItIs) {
  for (const bool slurm : {true, false}) {
    const fs::path at = fake_launchers();
    Job job;
    job.launch.slots.extra = kHostile;
    job.launch.slots.script = "it's $(touch pwned) `x`.py";
    write(at / "job.sh", slurm ? slurm_text(job.launch) : mpirun_text(job.launch));
    ASSERT_EQ(run_job(at, kKnown, "'last $(touch pwned)'"), 0) << read_path(at / "out");
    const std::string got = read_path(at / "arguments");
    std::string want = "-u\nit's $(touch pwned) `x`.py\n";
    for (const std::string& word : script_arguments(job.launch)) want += word + "\n";
    want += kFromVariables + "last $(touch pwned)\n";
    EXPECT_EQ(got, want);
    EXPECT_THAT(read_path(at / "environment"), HasSubstr("RANK=0\n"));
    EXPECT_FALSE(fs::exists(at / "pwned"));
  }
}

TEST(Launch, WhatOnlyTheUserKnowsIsAskedForFirst) {
  for (const bool slurm : {true, false}) {
    const fs::path at = fake_launchers();
    Job job;
    write(at / "job.sh", slurm ? slurm_text(job.launch) : mpirun_text(job.launch));
    EXPECT_EQ(run_job(at, "LR=1", ""), 2);
    EXPECT_FALSE(fs::exists(at / "arguments"));
    const std::string said = read_path(at / "out");
    for (const char* name : {"DATA_PATH", "TOKENIZER_MODEL", "CHECKPOINTS", "TRAIN_ITERS"})
      EXPECT_THAT(said, HasSubstr(std::string("./job.sh: ") + name + " is not set: "));
    EXPECT_THAT(said, HasSubstr("or give --train-iters behind the file."));
    EXPECT_THAT(said, Not(HasSubstr("LR is not set")));
    // As flags, whichever.
    EXPECT_EQ(run_job(at, "",
                      "--mock-data --tokenizer-type NullTokenizer --save=x --train-samples 8 "
                      "--lr 1e-4"),
              0)
        << read_path(at / "out");
    EXPECT_THAT(read_path(at / "arguments"), Not(HasSubstr("--train-iters")));
    // In the arguments that `pleat launch` was given.
    job.launch.slots.extra = {"--mock-data", "--tokenizer-type", "NullTokenizer"};
    write(at / "job.sh", slurm ? slurm_text(job.launch) : mpirun_text(job.launch));
    EXPECT_EQ(run_job(at, "CHECKPOINTS=c TRAIN_ITERS=10 LR=1", ""), 0) << read_path(at / "out");
  }
}

TEST(Launch, ExpertsAreBalanced) {
  Job job;
  EXPECT_THAT(slurm_text(job.launch), Not(HasSubstr("--moe-aux-loss-coeff")));
  job.launch.moe = true;
  job.exported.settings.push_back({"--moe-router-load-balancing-type", {"aux_loss"}});
  job.exported.settings.push_back({"--moe-aux-loss-coeff", {"0.01"}});
  const std::string text = slurm_text(job.launch);
  EXPECT_THAT(text, HasSubstr(": \"${MOE_AUX_LOSS:=0.01}\""));
  EXPECT_THAT(text, HasSubstr("--moe-router-load-balancing-type aux_loss\n"));
  EXPECT_THAT(text, Not(HasSubstr("--moe-aux-loss-coeff 0.01")));  // the variable's
}

// Requeued: a job that failed after it had worked for ten minutes, three times.
TEST(Launch, AJobThatFailsStartsAgainIfItHadWorked) {
  const fs::path at = fake_launchers();
  write(at / "job.sh", slurm_text(Job().launch));
  EXPECT_EQ(run_job(at, kKnown + "EXIT_CODE=9", ""), 9);
  EXPECT_THAT(read_path(at / "scontrol"), Not(HasSubstr("requeue")));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run_job(at, kKnown + "EXIT_CODE=9 SECONDS=700", ""), 9);
  std::istringstream said(read_path(at / "scontrol"));
  int requeued = 0;
  for (std::string line; std::getline(said, line);) requeued += line == "requeue 1" ? 1 : 0;
  EXPECT_EQ(requeued, 3);
  EXPECT_THAT(read_path(at / "job-1.failures"), HasSubstr("exit code 9 after 70"));
}

TEST(Launch, ContainersWorkInTheFolderOfTheJob) {
  Job job;
  job.launch.slots.image = "my image.sqsh";
  job.launch.slots.mounts = "/data:/data";
  EXPECT_THAT(slurm_text(job.launch),
              HasSubstr("--container-image='my image.sqsh' --container-mounts=\"$PWD:$PWD\""
                        ",/data:/data --container-workdir=\"$PWD\""));
  job.launch.slots.engine = ContainerEngine::apptainer;
  EXPECT_THAT(slurm_text(job.launch),
              HasSubstr("apptainer exec --nv --bind \"$PWD\",/data:/data --pwd \"$PWD\" "
                        "'my image.sqsh' \\\n  bash -c "));
}

TEST(Launch, DirectivesTakePlainNamesOnly) {
  for (const char* bad : {"x\n#SBATCH --wrap=touch pwned", "a b", "$(id)", "-x", "a;b", "x'y"}) {
    Job job;
    job.launch.slots.name = bad;
    try {
      check_launch(job.launch);
      ADD_FAILURE() << bad;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
      EXPECT_THAT(e.what(), HasSubstr("--job-name"));
      EXPECT_THAT(e.what(), Not(HasSubstr("\n#SBATCH")));
    }
  }
  Job job;
  job.launch.slots.time = "1\n#SBATCH --wrap=x";
  EXPECT_THROW(check_launch(job.launch), ConfigError);
  job.launch.slots.time = "2-00:00:00";
  EXPECT_NO_THROW(check_launch(job.launch));
  job.launch.slots.extra = {"a\nb"};
  EXPECT_THROW(check_launch(job.launch), ConfigError);
}

TEST(Launch, NodesMustBeWhole) {
  Job job;
  job.launch.gpus = 60;
  EXPECT_THROW(check_launch(job.launch), ConfigError);
  job.launch.gpus = 4;  // part of a node
  EXPECT_NO_THROW(check_launch(job.launch));
  EXPECT_THAT(slurm_text(job.launch), HasSubstr("--ntasks-per-node=4"));
}

// Every kind of object, read by a YAML parser of another make: strings stay strings.
TEST(Launch, KubernetesObjectsParse) {
  if (run("python3 -c 'import yaml' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-yaml is not installed";
  const fs::path at = folder();
  const JobKind kinds[] = {JobKind::train_job, JobKind::pytorch_job, JobKind::job_set,
                           JobKind::mpi_job};
  const char* names[] = {"TrainJob", "PyTorchJob", "JobSet", "MPIJob"};
  for (std::size_t i = 0; i < 4; ++i) {
    Job job;
    job.launch.slots.kind = kinds[i];
    job.launch.slots.image = "registry/image:1 # no";
    job.launch.slots.extra = kHostile;
    job.launch.slots.claim = "data";
    job.launch.slots.queue = "team-a";
    write(at / "job.yaml", kubernetes_text(job.launch));
    std::string words;
    for (const std::string& word : kHostile) words += word + "\n";
    write(at / "words", words);
    write(at / "check.py",
          "import sys, yaml\n"
          "doc = yaml.safe_load(open('job.yaml', encoding='utf-8'))\n"
          "assert doc['kind'] == sys.argv[1], doc['kind']\n"
          "def commands(v):\n"
          "    if isinstance(v, dict):\n"
          "        if 'command' in v: yield v['command']\n"
          "        for x in v.values(): yield from commands(x)\n"
          "    elif isinstance(v, list):\n"
          "        for x in v: yield from commands(x)\n"
          "found = [c for c in commands(doc) if 'pretrain_gpt.py' in c]\n"
          "assert found\n"
          "assert '/dev/shm' in str(doc) and \"'claimName': 'data'\" in str(doc)\n"
          "words = [w.replace('$', '$$') for w in open('words', "
          "encoding='utf-8').read().split('\\n')[:-1]]\n"
          "for c in found:\n"
          "    assert all(isinstance(w, str) for w in c)\n"
          "    assert c[-len(words):] == words, (c[-len(words):], words)\n");
    EXPECT_EQ(run("cd " + at.string() + " && python3 check.py " + names[i] + " 2>err"), 0)
        << read_path(at / "err") << kubernetes_text(job.launch);
  }
}

TEST(Launch, KubernetesNeedsAnImage) {
  Job job;
  EXPECT_THROW(static_cast<void>(kubernetes_text(job.launch)), ConfigError);
}

TEST(Launch, NvlinkDomainsBeyondANode) {
  Job job;
  job.launch.gpus_per_node = 4;
  job.launch.nvlink_domain = 72;
  job.launch.expert_parallel = 32;
  job.launch.hybridep = true;
  const auto environment = job_environment(job.launch);
  EXPECT_THAT(environment, Contains(std::pair<std::string, std::string>{"NCCL_MNNVL_ENABLE", "1"}));
  EXPECT_THAT(environment,
              Contains(std::pair<std::string, std::string>{"NVLINK_DOMAIN_SIZE", "72"}));
  EXPECT_THAT(environment, Contains(std::pair<std::string, std::string>{
                               "NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN", "32"}));
}

TEST(Yaml, BlockStyle) {
  JsonValue list = JsonValue::array();
  list.push_back(JsonValue::object().set("name", "no").set("value", 1));
  list.push_back("a: b");
  const JsonValue root = JsonValue::object()
                             .set("on", true)
                             .set("list", std::move(list))
                             .set("none", JsonValue::object());
  EXPECT_EQ(to_yaml(root),
            "\"on\": true\nlist:\n  - name: \"no\"\n    value: 1\n  - \"a: b\"\nnone: {}\n");
}

TEST(Quoting, Words) {
  EXPECT_EQ(shell_word("a-b_c.1", "p"), "a-b_c.1");
  EXPECT_EQ(shell_word("it's", "p"), "'it'\\''s'");
  EXPECT_EQ(shell_word("", "p"), "''");
  EXPECT_THROW(static_cast<void>(shell_word("a\nb", "p")), ConfigError);
  EXPECT_EQ(one_line("a\nb\x1b[31m"), "a?b?[31m");
  EXPECT_EQ(dns_label("My Model_8x7B!"), "my-model-8x7b");
  EXPECT_EQ(dns_label("$$$"), "pleat");
}

}  // namespace
}  // namespace pleat::interop_test
