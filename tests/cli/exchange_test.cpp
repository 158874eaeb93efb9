// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Export, launch, import, diff and completion as a user meets them; the installed program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

std::string source(const std::string& path) { return std::string(PLEAT_SOURCE_DIR) + "/" + path; }
const std::string kShippedPlan = source("configs/plans/deepseek-v3-gb300-256.json");
const std::string kLog = source("tests/interop/data/megatron_mixtral.log");

int shell_code(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Export, PrintsAFileAndSaysWhatIsMissing) {
  const Said run = run_pleat({"export", "--to", "megatron", kShippedPlan});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("--pipeline-model-parallel-layout 'Et*4|(t*4|)*14tmL'\n"));
  EXPECT_THAT(run.err, HasSubstr("no counterpart: plan.fp8_attention = true"));
}

TEST(Export, JsonListsSettingsAndWhatIsMissing) {
  const Said run = run_pleat({"export", "--to", "megatron-bridge", kShippedPlan, "--json"});
  const JsonValue root = parse_json(run.out, "out");
  EXPECT_EQ(*root.find("framework")->as_string(), "Megatron-Bridge");
  EXPECT_GE(root.find("settings")->items().size(), 20u);
  EXPECT_GE(root.find("missing")->items().size(), 1u);
}

TEST(Export, RefusesWithExitCode2AndNoFile) {
  const std::string folder = made_folder("out");
  const Said run =
      run_pleat({"export", "--to", "deepspeed", kShippedPlan, "-o", folder + "/ds.json"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("plan.attention.pp: DeepSpeed cannot run this"));
  EXPECT_THAT(files_in(folder), IsEmpty());
}

TEST(Export, AnUnknownTargetIsNamed) {
  const Said run = run_pleat({"export", "--to", "megatorn", kShippedPlan});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("megatorn"));
}

TEST(Export, AWinnerOfTheSearchCanBeExportedAndLaunched) {
  const std::string file = test_folder() + "/best.json";
  ASSERT_EQ(run_pleat({"plan", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--gpus", "64",
                       "--seq-len", "4096", "--global-batch", "256", "-o", file})
                .exit_code,
            0);
  for (const char* target : {"megatron", "megatron-bridge"})
    EXPECT_EQ(run_pleat({"export", "--to", target, file}).exit_code, 0) << target;
  const Said job = run_pleat({"launch", "--to", "mpirun", file});
  EXPECT_EQ(job.exit_code, 0);
  EXPECT_THAT(job.out, HasSubstr("-np 64"));
}

TEST(Output, KeepsWhatIsThereUnlessForced) {
  const std::string folder = made_folder("out"), file = folder + "/plan.sh";
  write_text(file, "mine");
  const std::vector<std::string> words{"export", "--to", "megatron", kShippedPlan, "-o", file};
  const Said kept = run_pleat(words);
  EXPECT_EQ(kept.exit_code, 7);
  EXPECT_THAT(kept.err, HasSubstr("is there already"));
  EXPECT_EQ(read_text(file), "mine");
  const Said forced = run_pleat(words + std::vector<std::string>{"--force"});
  EXPECT_EQ(forced.exit_code, 0);
  EXPECT_THAT(read_text(file), HasSubstr("MEGATRON_ARGS=("));
  EXPECT_THAT(files_in(folder), ElementsAre("plan.sh"));
}

TEST(Output, DryRunsWriteNothing) {
  const std::string folder = made_folder("out");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"export", "--to", "megatron", kShippedPlan, "-o", folder + "/a", "--dry-run"},
           {"launch", "--to", "slurm", kShippedPlan, "-o", folder + "/a", "--dry-run"},
           {"import", "megatron-log", kLog, "--cluster", "h100-sxm", "-o", folder + "/a",
            "--dry-run"},
           {"predict", "--plan", kShippedPlan, "--out", folder + "/a", "--dry-run"}}) {
    const Said run = run_pleat(words);
    EXPECT_EQ(run.exit_code, 0) << words[0] << run.err;
    EXPECT_THAT(run.err, HasSubstr("would write " + folder + "/a (")) << words[0];
  }
  EXPECT_THAT(files_in(folder), IsEmpty());
}

TEST(Output, ADryRunOfWeightsMakesNoFolder) {
  const std::string folder = test_folder() + "/weights";
  const Said run = run_pleat({"export-weights", "--model", "tiny-moe", "-o", folder, "--dry-run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "would write " + folder + ": tiny-moe in fp32\n");
  EXPECT_FALSE(fs::exists(folder));
  const Said refused =
      run_pleat({"export-weights", "--model", "gpt-oss-20b", "-o", folder, "--dry-run"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("its experts are saved transposed"));
}

TEST(Launch, WritesAJobFile) {
  const Said run = run_pleat({"launch", "--to", "slurm", kShippedPlan, "--partition", "gpu",
                              "--arg", "--data-path", "--arg", "it's here"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("#SBATCH --nodes=64\n"));
  EXPECT_THAT(run.out, HasSubstr("--data-path 'it'\\''s here'"));
  EXPECT_THAT(run.out, HasSubstr("NVLINK_DOMAIN_SIZE=72"));
}

TEST(Launch, RefusesInjection) {
  const Said run =
      run_pleat({"launch", "--to", "slurm", kShippedPlan, "--account", "x\n#SBATCH --wrap=id"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--account"));
  EXPECT_EQ(run.out, "");
}

// Strings of a plan from somebody else: the names, the layout, the provenance.
TEST(Launch, HostilePlansStayText) {
  PlanDocument d = read_plan_document(read_text(kShippedPlan), kShippedPlan);
  const std::string folder = made_folder("hostile");
  for (const char* bad :
       {"$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "\n#SBATCH --wrap=touch",
        "x\ntouch pwned", "{{", "<script>", "\x1b[31m"}) {
    d.model_name = bad;
    d.provenance = bad;
    write_text(folder + "/plan.json", write_plan_document(d));
    const Said run = run_pleat({"launch", "--to", "slurm", folder + "/plan.json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("\n#SBATCH --wrap")));
    EXPECT_THAT(run.out, Not(HasSubstr("\ntouch pwned")));
    EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
    write_text(folder + "/job.sh", run.out);
    EXPECT_EQ(shell_code("cd " + folder + " && bash -n job.sh"), 0) << bad;
    const Said yaml =
        run_pleat({"launch", "--to", "kubernetes", folder + "/plan.json", "--image", "i"});
    EXPECT_THAT(yaml.out, Not(HasSubstr("\ntouch pwned"))) << bad;
  }
  EXPECT_FALSE(fs::exists(folder + "/pwned"));
}

TEST(Import, ALogIsComparedWithItsPrediction) {
  const std::string file = made_folder("out") + "/plan.json";
  const Said run = run_pleat({"import", "megatron-log", kLog, "--cluster", "h100-sxm", "-o", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("7 iterations (3 more dropped as warm-up), 7.009 s to 7.032 s each"));
  EXPECT_THAT(run.out, HasSubstr("TP1 CP1 DP16 PP4 VPP2 | ETP1 EP8 EDP2"));
  EXPECT_THAT(run.out, HasSubstr("profile h100-sxm-megatron"));
  const PlanDocument d = read_plan_document(read_text(file), file);
  EXPECT_EQ(d.gpus, 64);
  ASSERT_TRUE(d.predicted.has_value());
  const Said json = run_pleat({"import", "megatron-log", kLog, "--cluster", "h100-sxm", "--json"});
  const JsonValue root = parse_json(json.out, "out");
  EXPECT_DOUBLE_EQ(*root.find("measured")->find("step_seconds")->as_double(), 7.0151);
  EXPECT_DOUBLE_EQ(*root.find("predicted")->find("step_seconds")->as_double(),
                   d.predicted->step_seconds);
}

TEST(Import, OddLogsAreNamed) {
  const std::string file = test_folder() + "/x.log";
  write_text(file, "nothing here\n");
  const Said run = run_pleat({"import", "megatron-log", file});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("has 0 iteration lines"));
  EXPECT_THAT(run.err, Not(HasSubstr("--warmup 0")));  // there is nothing to keep
  EXPECT_EQ(run_pleat({"import", "megatron-log", file, file}).exit_code, 2);
  EXPECT_EQ(run_pleat({"import", "megatron-log", test_folder() + "/none.log"}).exit_code, 5);
}

TEST(Import, ExportedArgumentsGiveThePlanBack) {
  const std::string folder = made_folder("out");
  ASSERT_EQ(
      run_pleat({"import", "megatron-log", kLog, "--cluster", "h100-sxm", "-o", folder + "/a.json"})
          .exit_code,
      0);
  ASSERT_EQ(run_pleat({"export", "--to", "megatron", folder + "/a.json", "-o", folder + "/a.sh"})
                .exit_code,
            0);
  ASSERT_EQ(run_pleat({"import", "megatron-args", folder + "/a.sh", "--gpus", "64", "--cluster",
                       "h100-sxm", "-o", folder + "/b.json"})
                .exit_code,
            0);
  const Said same = run_pleat({"diff", folder + "/a.json", folder + "/b.json"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("no field differs"));
  EXPECT_THAT(same.out, HasSubstr("B takes 1.000 times as long as A"));
}

TEST(Import, HuggingFaceFolders) {
  const std::string folder = made_folder("Some-Model");
  fs::copy(source("configs/models/qwen3-30b-a3b.json"), folder + "/config.json");
  const Said run = run_pleat({"import", "hf", folder});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Some-Model (qwen3_moe)"));
  EXPECT_THAT(run.err, HasSubstr("not read: architectures"));
}

TEST(Import, MeasuredCollectivesMakeACluster) {
  const std::string folder = test_folder() + "/ours";
  const std::string data = source("tests/interop/data/");
  const Said run = run_pleat({"import", "nccl-tests", data + "all_reduce_new.txt",
                              data + "alltoall_new.txt", data + "reduce_scatter_old.txt",
                              "--cluster", "h100-sxm", "--name", "ours", "-o", folder});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("all_reduce      nvlink      8      1     18     368.4          82%"));
  EXPECT_THAT(run.out, HasSubstr("reduce_scatter  rail       16      2"));
  EXPECT_THAT(read_text(folder + "/tables/ours-collectives.csv"), HasSubstr("all_to_all,8,"));
  // What was written is read: the cluster, and without --profile the profile beside it.
  const Said predicted =
      run_pleat({"predict", "--model", "mixtral-8x7b", "--cluster", folder + "/ours.json", "--gpus",
                 "16", "--seq-len", "4096", "--global-batch", "64", "--ep", "8"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, HasSubstr("\nprofile     ours-megatron (megatron), constants "));
  EXPECT_EQ(run_pleat({"import", "nccl-tests", data + "all_reduce_new.txt"}).exit_code, 2);
}

TEST(Diff, FieldsTimeAndMemory) {
  const std::string other = test_folder() + "/b.json";
  PlanDocument d = read_plan_document(read_text(kShippedPlan), kShippedPlan);
  d.plan.recompute = {Module::moe_act};
  d.plan.fp8_head = false;
  write_text(other, write_plan_document(d));
  const Said run = run_pleat({"diff", kShippedPlan, other});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("plan.fp8_head   true  false\n"));
  EXPECT_THAT(run.out, HasSubstr("plan.recompute  []    [\"moe_act\"]\n"));
  EXPECT_THAT(run.out, HasSubstr("activations"));
  const JsonValue root = parse_json(run_pleat({"diff", kShippedPlan, other, "--json"}).out, "out");
  EXPECT_EQ(root.find("fields")->items().size(), 2u);
  const double a = *root.find("a")->find("step_seconds")->as_double();
  double parts = 0;
  for (const JsonMember& m : root.find("a")->find("parts_seconds")->members())
    parts += *m.value.as_double();
  EXPECT_NEAR(parts, a, 1e-9 * a);
}

TEST(Diff, PlansOfAClusterOfOnesOwn) {
  const std::string cluster = test_folder() + "/mine.json", plan = test_folder() + "/plan.json";
  std::string text = read_text(std::string(PLEAT_SOURCE_DIR) + "/configs/clusters/h100-sxm.json");
  const std::string name = "\"name\": \"h100-sxm\"";
  text.replace(text.find(name), name.size(), "\"name\": \"mine\"");
  write_text(cluster, text);
  EXPECT_EQ(run_pleat({"predict", "--model", "mixtral-8x7b", "--cluster", cluster, "--gpus", "8",
                       "--seq-len", "2048", "--global-batch", "8", "--ep", "8", "-o", plan})
                .exit_code,
            0);
  EXPECT_THAT(run_pleat({"diff", plan, plan}).err, HasSubstr("no cluster named \"mine\""));
  EXPECT_EQ(run_pleat({"diff", plan, plan, "--cluster", cluster}).exit_code, 0);
}

TEST(Completion, ScriptsOfEveryShell) {
  for (const char* name : {"bash", "zsh", "fish"}) {
    const Said run = run_pleat({"completion", name});
    EXPECT_EQ(run.exit_code, 0);
    for (const char* word : {"export", "megatron-bridge", "nccl-tests", "deepseek-v3"})
      EXPECT_THAT(run.out, HasSubstr(word)) << name;
  }
  EXPECT_EQ(run_pleat({"completion", "tcsh"}).exit_code, 2);
  const std::string file = test_folder() + "/completion.bash";
  write_text(file, run_pleat({"completion", "bash"}).out);
  EXPECT_EQ(shell_code("bash -n " + file), 0);
  const std::string ask = "bash -c 'source " + file +
                          "; COMP_WORDS=(pleat export --to meg); COMP_CWORD=3; _pleat; echo "
                          "\"${COMPREPLY[@]}\"; COMP_WORDS=(pleat dif); COMP_CWORD=1; _pleat; echo "
                          "\"${COMPREPLY[@]}\"' >" +
                          test_folder() + "/answer";
  EXPECT_EQ(shell_code(ask), 0);
  EXPECT_EQ(read_text(test_folder() + "/answer"), "megatron megatron-bridge\ndiff\n");
}

// What bash offers after these words, the last of them begun.
std::string completed(const std::string& words) {
  const std::string file = test_folder() + "/completion.bash";
  if (!fs::exists(file)) write_text(file, run_pleat({"completion", "bash"}).out);
  const std::string answer = test_folder() + "/answer";
  EXPECT_EQ(
      shell_code("cd " + made_folder("empty") + " && bash -c 'source " + file +
                 "; COMP_WORDS=(pleat " + words +
                 "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pleat; echo \"${COMPREPLY[@]}\"' >" +
                 answer),
      0);
  return read_text(answer);
}

TEST(Completion, ValuesAreThoseOfTheOption) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"plan --by-stage \"\"", "on off\n"},
      {"plan --recompute m", "mla_up_proj mlp moe_act moe\n"},
      {"plan --optimizer \"\"", "adamw lamb sgd muon\n"},
      {"plan --exp-avg-dtype \"\"", "fp32 bf16 fp16 fp8\n"},
      {"plan --precision a", "any\n"},
      {"plan -m deepseek-v3", "deepseek-v3 deepseek-v3.2\n"},
      {"predict --optimizer a", "adamw\n"},
      {"capacity --confidence \"\"", "p50 p90\n"},
      {"capacity --batch-rule \"\"", "constant critical\n"},
      {"launch --trainer \"\"", "megatron pleat\n"},
      {"help exp", "export export-weights\n"},
      {"data m", "make\n"},
      {"plan --dispatcher deepep,al", "deepep,allgather deepep,alltoall\n"},
      {"predict --recompute moe_act,la", "moe_act,layernorm\n"},
      {"capacity --clusters h100-sxm,gb200-nvl", "h100-sxm,gb200-nvl72\n"},
      {"plan --tp \"\"", "\n"},  // a number: no flag is offered
      {"plan --html \"\"", "\n"},
      {"plan --robust --objectiv", "--objective\n"},
  };
  for (const auto& [words, offered] : cases) EXPECT_EQ(completed(words), offered) << words;
}

TEST(Install, TheProgramFindsItsOwnConfigs) {
  const std::string prefix = test_folder() + "/prefix";
  ASSERT_EQ(shell_code(std::string(PLEAT_CMAKE) + " --install " + PLEAT_BUILD_DIR + " --prefix " +
                       prefix + " >" + test_folder() + "/log 2>&1"),
            0)
      << read_text(test_folder() + "/log");
  EXPECT_TRUE(fs::exists(prefix + "/share/bash-completion/completions/pleat"));
  fs::rename(prefix + "/share/pleat/configs/models/tiny-moe.json",
             prefix + "/share/pleat/configs/models/only-installed.json");
  const std::string out = test_folder() + "/models";
  EXPECT_EQ(shell_code("unset PLEAT_CONFIG_DIR; " + prefix + "/bin/pleat models >" + out), 0);
  EXPECT_THAT(read_text(out), HasSubstr("only-installed"));
  EXPECT_THAT(read_text(out), Not(HasSubstr("tiny-moe")));
  // The variable comes first.
  EXPECT_EQ(shell_code("PLEAT_CONFIG_DIR=" + source("configs") + " " + prefix +
                       "/bin/pleat models >" + out),
            0);
  EXPECT_THAT(read_text(out), HasSubstr("tiny-moe"));
}

}  // namespace
}  // namespace pleat::cli_test
