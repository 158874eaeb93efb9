// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat import megatron-args` of scripts and `pleat improve`, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A job that leaves much to gain: pipeline and tensor parallelism for a model that needs neither.
std::string job_script(const std::string& more = "") {
  return "#!/bin/bash\n"
         "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"
         "TP=${TP:-4}\nPP=2\n"
         "MODEL_ARGS=(\n  --num-layers 16\n  --hidden-size 2048\n  --num-attention-heads 16\n"
         "  --seq-length 4096\n  --max-position-embeddings 4096\n  --swiglu\n"
         "  --disable-bias-linear\n  --position-embedding-type rope\n  --normalization RMSNorm\n"
         "  --untie-embeddings-and-output-weights\n  --tokenizer-type GPT2BPETokenizer\n)\n"
         "srun python pretrain_gpt.py ${MODEL_ARGS[@]} --bf16 \\\n"
         "  --micro-batch-size 1 --global-batch-size 128 \\\n"
         "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \\\n"
         "  --sequence-parallel --use-distributed-optimizer --lr $LR " +
         more + "\n";
}

std::string job_file(const std::string& more = "") {
  const std::string file = test_folder() + "/train.sh";
  write_text(file, job_script(more));
  return file;
}

TEST(ImportJob, AScriptIsReadAsItIsFound) {
  const std::string file = job_file("--deterministic-mode --recompute-activations");
  const Said run = run_pleat({"import", "megatron-args", file, "--cluster", "h100-sxm"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const PlanDocument d = read_plan_document(run.out, "out");
  EXPECT_EQ(d.gpus, 16);
  EXPECT_EQ(d.plan.attention.tp, 4);
  EXPECT_EQ(d.plan.recompute, (std::set<Module>{Module::core_attn}));
  EXPECT_THAT(run.err, AllOf(HasSubstr("assumed: vocab_size 50257, of tokenizer_type GPT2BPE"),
                             HasSubstr("not priced: --deterministic-mode: "), Not(HasSubstr("LR")),
                             Not(HasSubstr("--lr"))));
  const Said other = run_pleat({"import", "megatron-args", file, "--set", "TP=2", "--gpus", "32"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(read_plan_document(other.out, "out").plan.attention.tp, 2);
}

TEST(ImportJob, WhatIsMissingOrCannotBePredictedIsNamed) {
  const std::string folder = made_folder("job"), file = folder + "/train.sh";
  const std::string out = folder + "/plan.json";
  write_text(file, job_script("--perform-rl-step --context-parallel-size $CP"));
  const Said run = run_pleat({"import", "megatron-args", file, "-o", out});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("--context-parallel-size: $CP is not set\n"),
                    HasSubstr("--set NAME=VALUE sets $NAME"),
                    HasSubstr("--perform-rl-step: cannot be predicted: the steps are those of")));
  EXPECT_THAT(files_in(folder), ::testing::ElementsAre("train.sh"));
  write_text(file, "echo nothing\n");
  EXPECT_THAT(run_pleat({"import", "megatron-args", file}).err,
              HasSubstr("has no argument of Megatron-LM"));
  EXPECT_EQ(run_pleat({"import", "megatron-args", file, "--set", "TP"}).exit_code, 2);
}

TEST(ImportJob, OtherFrameworksFilesArePlans) {
  const std::string folder = made_folder("other"), toml = folder + "/config.toml";
  write_text(toml,
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n"
             "[parallelism]\ntensor_parallel_degree = 2\n[debug]\ndeterministic = true\n");
  const Said titan = run_pleat({"import", "torchtitan", toml, "--gpus", "16", "-c", "h100-sxm"});
  ASSERT_EQ(titan.exit_code, 0) << titan.err;
  EXPECT_EQ(read_plan_document(titan.out, "out").plan.attention.dp, 8);
  EXPECT_THAT(titan.err, HasSubstr("not priced: debug.deterministic: "));
  const std::string json = folder + "/ds_config.json";
  write_text(json, R"({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}})");
  EXPECT_THAT(run_pleat({"import", "deepspeed", json, "--gpus", "8"}).err,
              AllOf(HasSubstr("model: is the program's"), HasSubstr("--model NAME or FILE")));
  const Said zero = run_pleat({"import", "deepspeed", json, "--gpus", "8", "--model", "llama3-8b",
                               "-s", "8k", "-o", folder + "/plan.json"});
  ASSERT_EQ(zero.exit_code, 0) << zero.err;
  const Said priced = run_pleat({"predict", "--plan", folder + "/plan.json", "--json"});
  EXPECT_EQ(priced.exit_code, 0) << priced.err;
  EXPECT_EQ(run_pleat({"import", "nemo", json}).exit_code, 3);
}

TEST(Launch, WithoutASchedulerThereIsOneMessageAndNoFile) {
  const std::string folder = made_folder("plans"), plan = folder + "/plan.json";
  ASSERT_EQ(run_pleat({"import", "megatron-args", job_file(), "--cluster", "h100-sxm", "-o", plan})
                .exit_code,
            0);
  const Said run = run_pleat_with(
      {"PATH=/nowhere"}, {"launch", "--to", "slurm", plan, "--run", "--out", folder + "/job.sh"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err, "error: sbatch: is not installed here\n  hint: a login node of the cluster\n");
  EXPECT_THAT(files_in(folder), ::testing::ElementsAre("plan.json"));
}

// A plan that stands before a log is the log's.
TEST(Learn, ALogThatContradictsThePlanBeforeItIsRefused) {
  const std::string folder = made_folder("plans"), plan = folder + "/plan.json";
  ASSERT_EQ(run_pleat({"import", "megatron-args", job_file(), "--cluster", "h100-sxm", "-o", plan})
                .exit_code,
            0);
  const std::string log =
      std::string(PLEAT_SOURCE_DIR) + "/tests/interop/data/megatron_mixtral.log";
  const Said run = run_pleat({"calibrate", "--from-runs", plan, log, "--cluster", "h100-sxm",
                              "--out", folder + "/profile.json"});
  EXPECT_EQ(run.exit_code, 6) << run.err;
  EXPECT_THAT(run.err, HasSubstr("num_layers"));
  EXPECT_THAT(files_in(folder), ::testing::ElementsAre("plan.json"));
}

// The plans of an answer are files that `predict` reads, and one of them may stand beside a search.
TEST(PlanFiles, AllPlansOfAnAnswerAndAPlanBesideIt) {
  const std::string folder = test_folder() + "/plans/";
  const std::vector<std::string> search{
      "plan", "--model",   "olmoe-1b-7b", "--cluster",     "h100-sxm", "--gpus",
      "8",    "--seq-len", "4096",        "--top",         "2",        "--global-batch",
      "64",   "--pp",      "1",           "--tp",          "1",        "--neighbours",
      "0",    "--cp",      "1",           "--no-recompute"};
  const Said run = run_pleat(search + std::vector<std::string>{"--out", folder, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(files_in(folder), ::testing::ElementsAre("plan-1.json", "plan-2.json"));
  const JsonValue best = parse_json(run.out, "out").find("best")->items()[0];
  write_text(test_folder() + "/file.json", best.find("file")->dump());
  const Said priced = run_pleat({"predict", "--plan", test_folder() + "/file.json", "--json"});
  ASSERT_EQ(priced.exit_code, 0) << priced.err;
  // The second plan's file says what is searched: the same winner, and what it gains.
  const Said anew = run_pleat({"plan", "--plan", folder + "plan-2.json", "--pp", "1", "--tp", "1",
                               "--neighbours", "0", "--cp", "1", "--no-recompute", "--json"});
  ASSERT_EQ(anew.exit_code, 0) << anew.err;
  const JsonValue answer = parse_json(anew.out, "out");
  EXPECT_EQ(answer.find("best")->items()[0].find("plan")->dump(), best.find("plan")->dump());
  const JsonValue& own = answer.find("compared")->items()[0];
  EXPECT_EQ(own.find("name")->dump(0), "\"" + folder + "plan-2.json\"");
  EXPECT_EQ(own.find("place")->dump(0), "2");
  EXPECT_GE(own.find("gain")->as_double() == nullptr ? -1 : *own.find("gain")->as_double(), 0);
  const std::vector<std::string> file{"plan", "--plan", folder + "plan-2.json"};
  const Said longer =
      run_pleat(file + std::vector<std::string>{"--seq-len", "8k", "--pp", "1", "--tp", "1",
                                                "--max-evaluations", "50", "--top", "1"});
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_THAT(longer.out, AllOf(HasSubstr("does not fit in memory"), HasSubstr("given by --plan")));
  EXPECT_THAT(run_pleat(file + std::vector<std::string>{"--model", "llama3-8b"}).err,
              HasSubstr("the plan was made for olmoe-1b-7b, not for llama3-8b"));
  EXPECT_THAT(run_pleat(file + std::vector<std::string>{"--gpus", "12"}).err,
              HasSubstr("plan-2.json: workload.global_batch: 64 is not a multiple of "));
  EXPECT_EQ(run_pleat(file + std::vector<std::string>{"--global-batch", "7"}).exit_code, 2);
  const Said beside =
      run_pleat(search + std::vector<std::string>{"--compare", folder + "plan-2.json"});
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_THAT(beside.out, HasSubstr("plan-2.json"));
  std::vector<std::string> other = search;
  other[6] = "16";
  const Said wrong =
      run_pleat(other + std::vector<std::string>{"--compare", folder + "plan-2.json"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is a plan for 8 GPUs, the search is for 16"));
}

TEST(Improve, AFewFlagsAPatchAndAFasterPlan) {
  const std::string file = job_file("--num-layers-per-virtual-pipeline-stage 2");
  const Said run = run_pleat({"improve", file, "--cluster", "h100-sxm", "--seconds", "6"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("as it is: "), HasSubstr("change, one after the other"),
                             HasSubstr("all together: "), HasSubstr("flags to change\n"),
                             HasSubstr("\npatch\n--- "), HasSubstr("a search")));
  EXPECT_THAT(run.out, Not(HasSubstr("by hand")));  // read again, the patched file is the plan
}

TEST(Improve, ThePatchedFileIsTheFasterPlan) {
  if (std::system("command -v patch >/dev/null") != 0) GTEST_SKIP() << "no patch";
  const std::string folder = made_folder("job"), file = folder + "/train.sh";
  write_text(file, job_script());
  const Said run = run_pleat({"improve", file, "--cluster", "h100-sxm", "--seconds", "5", "--json",
                              "-o", folder + "/faster.patch"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "out");
  const auto& changes = json.find("changes")->items();
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(json.find("not_in_patch")->items(), IsEmpty()) << run.out;
  ASSERT_EQ(std::system(("cd / && patch -s -p0 < " + folder + "/faster.patch").c_str()), 0)
      << read_text(folder + "/faster.patch");
  const Said after = run_pleat(
      {"improve", file, "--cluster", "h100-sxm", "--seconds", "1", "--changes", "1", "--json"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(*parse_json(after.out, "out").find("plan")->as_string(),
            *changes.back().find("plan")->as_string());
}

TEST(Improve, ALogStandsBesideAndThatOfAnotherRunIsRefused) {
  const std::string file = job_file(), log = test_folder() + "/train.log";
  const auto log_of = [](const char* layers) {
    std::string text =
        "------------------------ arguments ------------------------\n"
        "  num_layers ...................................... " +
        std::string(layers) + "\n-------------------- end of arguments ---------------------\n";
    for (int i = 1; i <= 8; ++i)
      text += " iteration " + std::to_string(i) +
              "/ 100 | elapsed time per iteration (ms): 9000.0 | lm loss: 5.0 |\n";
    return text;
  };
  write_text(log, log_of("16"));
  const Said run = run_pleat(
      {"improve", file, "--cluster", "h100-sxm", "--seconds", "1", "--log", log, "--changes", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("measured: 9.000 s"),
                             HasSubstr("something beside the plan makes it slow")));
  write_text(log, log_of("48"));
  const std::string patch = made_folder("none") + "/p";
  const Said other = run_pleat({"improve", file, "--log", log, "-o", patch});
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_THAT(other.err, HasSubstr("num_layers"));
  EXPECT_THAT(files_in(test_folder() + "/none"), IsEmpty());
}

TEST(Improve, PlanFilesAreTakenAndOthersAreNamed) {
  const std::string plan = test_folder() + "/plan.json";
  ASSERT_EQ(run_pleat({"import", "megatron-args", job_file(), "--cluster", "h100-sxm", "-o", plan})
                .exit_code,
            0);
  const Said run = run_pleat({"improve", plan, "--seconds", "1", "--changes", "1", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("\"patch\"")));
  EXPECT_EQ(run_pleat({"improve", plan, "--gpus", "12"}).exit_code, 2);
  EXPECT_EQ(run_pleat({"improve", test_folder() + "/none.sh"}).exit_code, 5);
}

// The patched file is read as the plan that was wanted: nothing is left to do by hand.
void expect_improved(const std::string& file, const std::vector<std::string>& more,
                     const std::string& line) {
  std::vector<std::string> words{"improve", file,        "-c", "h100-sxm", "--seconds",
                                 "4",       "--changes", "2",  "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Said run = run_pleat(words);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "out");
  EXPECT_FALSE(json.find("changes")->items().empty());
  EXPECT_TRUE(json.find("not_in_patch")->items().empty()) << run.out;
  ASSERT_NE(json.find("patch"), nullptr) << run.out;
  EXPECT_THAT(json.find("patch")->dump(0), HasSubstr(line));
}

TEST(Improve, ConfigurationsOfOtherFrameworksGetPatchesInTheirSyntax) {
  const std::string toml = test_folder() + "/config.toml";
  write_text(toml,
             "[model]\nname = \"llama3\"\nflavor = \"8B\"  # the small one\n[training]\n"
             "local_batch_size = 1\nseq_len = 4096\nglobal_batch_size = 64\n[parallelism]\n"
             "tensor_parallel_degree = 4\n[activation_checkpoint]\nmode = \"none\"\n");
  expect_improved(toml, {"--gpus", "16"}, "+tensor_parallel_degree = ");
  const std::string json = test_folder() + "/ds_config.json";
  write_text(json,
             "{\n  \"train_micro_batch_size_per_gpu\": 1,\n  \"gradient_accumulation_steps\": 8,\n"
             "  \"bf16\": {\"enabled\": true},\n  \"tensor_parallel\": {\"autotp_size\": 4},\n"
             "  \"zero_optimization\": {\"stage\": 3}\n}\n");
  expect_improved(json, {"--gpus", "16", "--model", "llama3-8b"}, "+  \\\"gradient_accumulation");
  const std::string yaml = test_folder() + "/nemo.yaml";
  write_text(
      yaml,
      "data:\n  global_batch_size: 64\n  micro_batch_size: 1\n  seq_length: 4096\n"
      "model:\n  config:\n    _target_: nemo.collections.llm.gpt.model.llama.Llama3Config8B\n"
      "optim:\n  config:\n    use_distributed_optimizer: true\n    bf16: true\n"
      "trainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16-mixed\n  strategy:\n"
      "    tensor_model_parallel_size: 4\n    sequence_parallel: true\n");
  expect_improved(yaml, {}, "+    tensor_model_parallel_size: ");
}

}  // namespace
}  // namespace pleat::cli_test
