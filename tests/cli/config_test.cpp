// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat config: defaults of options from one file, and what goes before them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Texts = std::vector<std::string>;

std::string config_file() { return test_folder() + "/config.toml"; }

Said with_config(const std::string& text, const Texts& arguments) {
  write_text(config_file(), text);
  return run_pleat_with({"PLEAT_CONFIG=" + config_file()}, arguments);
}

const Texts kRest{"--gpus", "64", "--seq-len", "4096", "--global-batch", "256", "--ep", "8"};

TEST(Config, DefaultsOfCommandsThatAsk) {
  const std::string text =
      "# ours\n"
      "model = \"mixtral-8x7b\"\n"
      "cluster = \"h100-sxm\"\n"
      "[predict]\n"
      "gpus = 64\n"
      "seq-len = 4096\n"
      "global-batch = 256\n"
      "ep = 8\n"
      "json = true\n";
  const Said bare = with_config(text, {"predict"});
  const Said typed = run_pleat(
      Texts{"predict", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--json"} + kRest);
  EXPECT_EQ(bare.exit_code, 0) << bare.err;
  EXPECT_EQ(bare.out, typed.out);
  EXPECT_EQ(bare.err, typed.err);
}

TEST(Config, TypedGoesBeforeSectionBeforeTop) {
  const std::string text =
      "model = \"mixtral-8x7b\"\n"
      "cluster = \"a100-sxm\"\n"
      "[predict]\n"
      "cluster = \"h100-sxm\"\n";
  const Said section = with_config(text, Texts{"predict"} + kRest);
  EXPECT_THAT(section.out, HasSubstr("mixtral-8x7b on 64 x h100-sxm")) << section.err;
  const Said typed = with_config(text, Texts{"predict", "-c", "h200-sxm"} + kRest);
  EXPECT_THAT(typed.out, HasSubstr("mixtral-8x7b on 64 x h200-sxm")) << typed.err;
}

// A file of a plan says all that defaults would.
TEST(Config, PlanFilesStayAsTheyAre) {
  const std::string plan = test_folder() + "/plan.json";
  ASSERT_EQ(run_pleat(Texts{"predict", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--out",
                            plan} +
                      kRest)
                .exit_code,
            0);
  const Said alone = run_pleat({"predict", "--plan", plan});
  const Said beside =
      with_config("model = \"llama3-8b\"\nseq-len = 128\ntp = 2\n", {"predict", "--plan", plan});
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_EQ(beside.out, alone.out);
}

// The cluster one plans for is not the machine one trains on.
TEST(Config, CommandsThatRunTakeTheirOwnSectionOnly) {
  const Texts train{"train", "--model", "tiny-moe",       "--gpus", "2",
                    "--ep",  "2",       "--global-batch", "2",      "--dry-run"};
  const Said run = with_config("cluster = \"h100-sxm\"\n[train]\nseq-len = 32\n", train);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("h100-sxm")));
  const Said wrong = with_config("steps = 5\n", train);
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("steps: none of the commands that ask"),
                               HasSubstr("it is one of `pleat train`: write it below [train]")));
}

TEST(Config, WrongKeysNameTheFileTheKeyAndNearOnes) {
  const Said run = with_config(
      "clutser = \"h100-sxm\"\n[plan]\ntime-limt = 3\n[plann]\ntop = 3\n[predict]\nforce = true\n"
      "seq-len = 1\nseq-len = 2\n",
      Texts{"predict", "-m", "mixtral-8x7b", "-c", "h100-sxm"} + kRest);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "");
  for (const std::string part :
       {": clutser: ", "did you mean cluster?", ": plan.time-limt: `pleat plan` has no such option",
        "did you mean time-limit?", ": plann.top: pleat has no command \"plann\"",
        "did you mean [plan]?", ": predict.force: has no default: it is said with each command",
        ": predict.seq-len: stands there twice"}) {
    EXPECT_THAT(run.err, HasSubstr(part));
  }
  EXPECT_THAT(run.err, HasSubstr("error: " + config_file() + ": clutser"));
  EXPECT_EQ(with_config("clutser = 1\n", {"predict", "--help"}).exit_code, 0);
  EXPECT_EQ(with_config("clutser = 1\n", {"config"}).exit_code, 3);
}

// An option that complains may be one that nobody typed.
TEST(Config, ErrorsSayWhichDefaultsThereAre) {
  const Said value = with_config("tp = 0\n", Texts{"predict", "-m", "llama3-8b"});
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_THAT(value.err, AllOf(HasSubstr("--tp"),
                               HasSubstr("note: defaults from " + config_file() + ": --tp")));
  const Said name =
      with_config("cluster = \"h1000\"\n", Texts{"predict", "-m", "llama3-8b"} + kRest);
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err,
              AllOf(HasSubstr("no cluster named \"h1000\""), HasSubstr("note: defaults from ")));
}

// --slack is of other objectives: typed it is refused, a default of the file only waits for them.
TEST(Config, DefaultsWithoutEffectAreNoError) {
  const Texts plan =
      Texts{"plan",      "-m", "tiny-moe",       "-c", "localhost",         "-n", "4",
            "--seq-len", "64", "--global-batch", "8",  "--max-evaluations", "200"};
  EXPECT_EQ(run_pleat(plan + Texts{"--slack", "0.2"}).exit_code, 2);
  const Said run = with_config("slack = 0.2\n", plan);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(Config, ShowsWhatIsThere) {
  const Said none = run_pleat_with({"XDG_CONFIG_HOME=" + test_folder()}, {"config"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(none.out, AllOf(HasSubstr(test_folder() + "/pleat/config.toml"),
                              HasSubstr("from XDG_CONFIG_HOME"), HasSubstr("not there")));
  const std::string text = "cluster = \"h100-sxm\"\n\n[plan]\n# more\ntop = 3\ntp = [1, 2]\n";
  const Said run = with_config(text, {"config"});
  EXPECT_THAT(run.out, HasSubstr("cluster   h100-sxm     1  "));
  EXPECT_THAT(run.out, HasSubstr("plan.top  3            5  plan\n"));
  const Said json = with_config(text, {"config", "--json"});
  const JsonValue root = parse_json(json.out, "stdout");
  EXPECT_EQ(*root.find("schema_version")->as_integer(), 1);
  EXPECT_EQ(*root.find("file")->as_string(), config_file());
  EXPECT_EQ(*root.find("named_by")->as_string(), "PLEAT_CONFIG");
  const auto& defaults = root.find("defaults")->items();
  ASSERT_EQ(defaults.size(), 3u);
  EXPECT_EQ(*defaults[2].find("key")->as_string(), "plan.tp");
  EXPECT_EQ(*defaults[2].find("value")->as_string(), "1,2");
  EXPECT_EQ(*defaults[2].find("line")->as_integer(), 6);
}

TEST(Config, SetAndUnset) {
  const Texts home{"XDG_CONFIG_HOME=" + test_folder() + "/here"};
  const std::string file = test_folder() + "/here/pleat/config.toml";
  const auto run = [&](const Texts& words) {
    return run_pleat_with(home, Texts{"config"} + words);
  };
  EXPECT_EQ(run({"set", "plan.top", "3"}).exit_code, 0);
  EXPECT_EQ(run({"set", "cluster", "h100-sxm"}).exit_code, 0);
  EXPECT_EQ(run({"set", "train.async-save", "true"}).exit_code, 0);
  EXPECT_EQ(read_text(file),
            "cluster = \"h100-sxm\"\n[plan]\ntop = 3\n\n[train]\nasync-save = true\n");
  write_text(file, "# mine\ncluster = \"x\"  # for now\n\n[plan]\ntp = [1,\n  2]\ntop = 3\n");
  EXPECT_EQ(run({"set", "cluster", "b200"}).exit_code, 0);
  EXPECT_EQ(run({"set", "plan.tp", "2"}).exit_code, 0);
  EXPECT_EQ(run({"set", "gpus", "8"}).exit_code, 0);
  EXPECT_EQ(read_text(file),
            "# mine\ncluster = \"b200\"  # for now\ngpus = 8\n\n[plan]\ntp = 2\ntop = 3\n");
  EXPECT_EQ(run({"unset", "plan.tp"}).exit_code, 0);
  EXPECT_EQ(read_text(file),
            "# mine\ncluster = \"b200\"  # for now\ngpus = 8\n\n[plan]\ntop = 3\n");
  const Said again = run({"unset", "plan.tp"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("plan.tp: is not there"));
  EXPECT_EQ(run({"set", "clutser", "b200"}).exit_code, 2);
  EXPECT_EQ(run({"set", "plan.top", "none"}).exit_code, 2);
  EXPECT_EQ(run({"set", "plan.explain", "perhaps"}).exit_code, 2);
  EXPECT_EQ(run({"set", "cluster", "a#b"}).exit_code, 2);
}

TEST(Config, ANamedFileIsThere) {
  const Said run = run_pleat_with({"PLEAT_CONFIG=" + test_folder() + "/none.toml"}, {"models"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("none.toml: is no file, and PLEAT_CONFIG names it"));
}

TEST(Config, AWrongOptionBesideAFileThatIsNotThereIsOneError) {
  const std::string file = test_folder() + "/none.toml";
  const Said run = run_pleat_with({"PLEAT_CONFIG=" + file}, {"models", "--jsn"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: unknown option --jsn\n  hint: did you mean --json? `pleat help models` lists "
            "the options\n  note: no defaults were read: " +
                file + ": is no file, and PLEAT_CONFIG names it\n");
}

TEST(Config, AWrongValueSaysWhatWouldBeValid) {
  const Said run = run_pleat_with({"XDG_CONFIG_HOME=" + test_folder() + "/here"},
                                  {"config", "set", "tp", "abc"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("error: tp: "));
  EXPECT_THAT(run.err, HasSubstr("\n  hint: --tp INT"));
}

}  // namespace
}  // namespace pleat::cli_test
