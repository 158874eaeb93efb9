// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words that do not parse, whole messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

const std::vector<std::string> kCommands{"models", "clusters", "model", "program",   "predict",
                                         "plan",   "train",    "data",  "calibrate", "compare",
                                         "tune",   "config",  "doctor",  "version",  "help"};

TEST(CommandLine, UnknownCommand) {
  const Said run = run_pleat({"modles"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "error: unknown command 'modles'\n  hint: did you mean 'models'?\n");
}

TEST(CommandLine, UnknownCommandLikeNoOther) {
  const Said run = run_pleat({"xyzzyplugh"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(
      run.err,
      "error: unknown command 'xyzzyplugh'\n  hint: commands are models, clusters, model, program, "
      "predict, plan, capacity, train, checkpoint, sample, data, calibrate, compare, tune, "
      "validate, export, export-weights, launch, import, improve, watch, serve, diff, config, "
      "doctor, completion, version, help\n");
}

TEST(CommandLine, UnknownOption) {
  const Said run = run_pleat({"model", "deepseek-v3", "--seq-length=8"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: unknown option --seq-length\n"
            "  hint: did you mean --seq-len? `pleat help model` lists the options\n");
}

TEST(CommandLine, UnexpectedArgument) {
  const Said run = run_pleat({"models", "all"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: unexpected argument 'all'\n  hint: `pleat help models` lists the options\n");
}

TEST(CommandLine, NoCommand) {
  const Said run = run_pleat({});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("`pleat --help` lists the commands"));
}

TEST(CommandLine, NumbersHaveRanges) {
  for (const char* wrong : {"0", "-4", "99999999999999999999", "2.5", "four", ""}) {
    const Said run = run_pleat({"predict", "--tp", wrong});
    EXPECT_EQ(run.exit_code, 2) << wrong;
    EXPECT_THAT(run.err, HasSubstr("--tp")) << wrong;
  }
}

TEST(CommandLine, EveryMissingOptionIsNamed) {
  const Said run = run_pleat({"plan", "--model", "deepseek-v3"});
  EXPECT_EQ(run.exit_code, 2);
  for (const char* flag : {"--cluster", "--gpus", "--seq-len", "--global-batch"}) {
    EXPECT_THAT(run.err, HasSubstr(std::string("error: ") + flag + ": is required")) << flag;
  }
}

TEST(CommandLine, UnknownNamesSuggest) {
  const Said model = run_pleat({"model", "deepseek-v33"});
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("did you mean deepseek-v3?"));
  const Said precision =
      run_pleat({"predict", "--model", "deepseek-v3", "--cluster", "h100-sxm", "--gpus", "256",
                 "--seq-len", "4096", "--global-batch", "256", "--precision", "mxfp9"});
  EXPECT_EQ(precision.exit_code, 2);
  EXPECT_EQ(precision.err,
            "error: --precision: 'mxfp9' is not one of fp32, fp16, bf16, fp8, fp8_delayed, "
            "fp8_block, mxfp8, nvfp4\n"
            "  hint: did you mean mxfp8?\n");
}

TEST(CommandLine, WrongRecipe) {
  const Said run =
      run_pleat({"plan", "--model", "tiny-moe", "--cluster", "localhost", "--gpus", "4",
                 "--seq-len", "64", "--global-batch", "8", "--compare", "tp=1,micro-bath=2,pp=x"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("unknown plan field 'micro-bath'; did you mean micro-batch?"));
  EXPECT_THAT(run.err, HasSubstr("pp: 'x' is not a whole number"));
}

TEST(CommandLine, EveryCommandHasHelpWithExamples) {
  for (const std::string& command : kCommands) {
    const Said flag = run_pleat({command, "--help"});
    const Said help = run_pleat({"help", command});
    EXPECT_EQ(flag.exit_code, 0) << command;
    EXPECT_THAT(flag.out, HasSubstr("Usage: pleat " + command)) << command;
    EXPECT_THAT(help.out, HasSubstr("Examples:\n  pleat ")) << command;
    const bool is_short = flag.out.find("--help-all") != std::string::npos;
    if (is_short) {
      EXPECT_EQ(run_pleat({command, "--help-all"}).out, help.out) << command;
    } else {
      EXPECT_EQ(flag.out, help.out) << command;
    }
  }
}

// Of commands with many options: ten of them, what they are for, and where the others are.
TEST(CommandLine, HelpByTask) {
  for (const char* command : {"plan", "predict", "capacity", "train", "tune", "export"}) {
    const std::string text = run_pleat({command, "--help"}).out;
    const auto lines = std::ranges::count(text, '\n');
    EXPECT_LE(lines, 45) << command;
    EXPECT_THAT(text, HasSubstr("\nThe options that matter:\n  -")) << command;
    EXPECT_THAT(text, HasSubstr("\nExamples:\n  # ")) << command;
    EXPECT_THAT(text, HasSubstr("\n  pleat " + std::string(command) + " ")) << command;
    EXPECT_THAT(text, HasSubstr("--help-all` lists all ")) << command;
  }
  const std::string plan = run_pleat({"plan", "--help"}).out;
  EXPECT_THAT(plan, HasSubstr("options: Workload; Objective; Numerics"));
  EXPECT_EQ(plan.find("--dispatcher-sms"), std::string::npos);
}

TEST(CommandLine, HelpFitsTheWidthThatIsKnown) {
  for (const Words& words : {Words{"plan", "--help"}, Words{"help", "train"}, Words{"--help"}}) {
    std::istringstream lines(run_pleat_with({"COLUMNS=80"}, words).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(CommandLine, QuietLeavesOnlyTheAnswer) {
  const std::string folder = made_folder("quiet");
  const Words ask{"predict",   "--model", "tiny-moe",       "--cluster", "localhost", "--gpus", "1",
                  "--seq-len", "64",      "--global-batch", "2",         "--out"};
  const Said loud = run_pleat(ask + Words{folder + "/a.json"});
  const Said quiet = run_pleat(ask + Words{folder + "/b.json", "--quiet"});
  EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
  EXPECT_NE(loud.err, "");
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(read_text(folder + "/a.json"), read_text(folder + "/b.json"));
}

// As someone at a terminal sees it.
TEST(CommandLine, ColoursOnATerminalOnly) {
  const auto shown = [](const std::string& before) {
    const std::string command =
        before + " script -qec '" PLEAT_BINARY " plan --help; " PLEAT_BINARY " modles' /dev/null";
    std::FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    pclose(pipe);
    return text;
  };
  const std::string text = shown("TERM=xterm NO_COLOR=");
  EXPECT_THAT(text, HasSubstr("\033[36m-m,--model\033[0m"));
  EXPECT_THAT(text, HasSubstr("\033[1;31merror:\033[0m unknown command"));
  for (const char* without : {"TERM=xterm NO_COLOR=1", "TERM=dumb NO_COLOR="}) {
    EXPECT_EQ(shown(without).find('\033'), std::string::npos) << without;
  }
  EXPECT_EQ(run_pleat({"plan", "--help"}).out.find('\033'), std::string::npos);
}

// As man(1) reads it: macros that it knows at the beginning of lines, and every command.
TEST(CommandLine, ManualPage) {
  const Said run = run_pleat({"help", "--man"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith(".TH PLEAT 1 "));
  for (const std::string& command : kCommands)
    EXPECT_THAT(run.out, HasSubstr("\n.SS \"pleat " + command + "\"\n"));
  EXPECT_THAT(run.out, HasSubstr("\n.TP\n\\fB\\-m,\\-\\-model\\fR \\fITEXT\\fR\nName of a"));
  for (std::size_t at = 0; (at = run.out.find("\n.", at)) != std::string::npos; ++at) {
    const std::string macro = run.out.substr(at + 1, run.out.find_first_of(" \n", at + 1) - at - 1);
    EXPECT_THAT(
        (std::vector<std::string>{".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".B", ".I"}),
        ::testing::Contains(macro));
  }
}

TEST(CommandLine, Version) {
  const Said run = run_pleat({"version"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, StartsWith("pleat "));
  EXPECT_EQ(run_pleat({"--version"}).out, run.out);
}

TEST(CommandLine, HelpOfAll) {
  const Said run = run_pleat({"help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run_pleat({"--help"}).out, run.out);
  for (const std::string& command : kCommands) EXPECT_THAT(run.out, HasSubstr("\n  " + command));
}

}  // namespace
}  // namespace pleat::cli_test
