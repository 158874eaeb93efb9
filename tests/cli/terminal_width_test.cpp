// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Answers fit the terminal, the first questions are answered first, and no figure is lost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// With pins: small spaces.
Words deepseek_words() {
  return {"--model",    "deepseek-v3", "--cluster",      "gb300-nvl72", "--gpus",        "256",
          "--seq-len",  "4096",        "--global-batch", "4096",        "--precision",   "mxfp8",
          "--tp",       "1",           "--cp",           "1",           "--micro-batch", "1,2",
          "--pp",       "1,2",         "--vpp",          "1,8",         "--ep",          "64",
          "--sharding", "zero1",       "--dispatcher",   "hybridep"};
}

Words qwen() {
  return {"--model",        "qwen3-30b-a3b",
          "--cluster",      "h100-sxm",
          "--gpus",         "16",
          "--seq-len",      "4096",
          "--global-batch", "512",
          "--tp",           "1",
          "--cp",           "1",
          "--pp",           "1,2",
          "--ep",           "8",
          "--vpp",          "1,4,6",
          "--dispatcher",   "deepep",
          "--cuda-graph",   "partial",
          "--sharding",     "zero1"};
}

Words mixtral() {
  return {"--model", "mixtral-8x7b", "--cluster", "h100-sxm",       "--gpus",
          "64",      "--seq-len",    "4096",      "--global-batch", "256"};
}

Words llama() {
  return {"--model",        "llama3-70b", "--cluster",         "h100-sxm",
          "--gpus",         "64",         "--seq-len",         "8192",
          "--global-batch", "128",        "--max-evaluations", "50"};
}

Words capacity() {
  return {"capacity", "--model",        "gpt-1.7b", "--clusters", "h100-sxm,gb300-nvl72",
          "--gpus",   "8..16",          "--tokens", "100B",       "--seq-len",
          "2048",     "--global-batch", "512",      "--deadline", "90d"};
}

// What is asked of every command whose answer is long.
std::vector<Words> requests() {
  const Words plan{"plan"}, predict{"predict"};
  return {plan + deepseek_words(),
          plan + deepseek_words() +
              Words{"--tokens", "15T", "--top", "12", "--compare", "tp=1,pp=2,vpp=8,ep=32",
                    "--explain", "--neighbours", "200"},
          plan + qwen() + Words{"--pareto", "--explain", "--top", "3"},
          plan + Words{"--model", "qwen3-30b-a3b", "--cluster", "h100-sxm", "--gpus", "16",
                       "--seq-len", "4096", "--global-batch", "512", "--runtime", "pleat",
                       "--precision", "bf16", "--max-evaluations", "30"},
          plan + qwen() + Words{"--objective", "cost", "--top", "1", "--min-gpus", "8"},
          plan + qwen() + Words{"--max-evaluations", "1"},
          plan + mixtral() +
              Words{"--sensitivity", "plans", "--objective", "memory-headroom", "--pp", "1",
                    "--max-evaluations", "100"},
          plan + llama() + Words{"--robust"},
          predict + mixtral() + Words{"--tp", "2", "--pp", "2", "--ep", "8", "--explain"},
          predict + Words{"--model",        "deepseek-v3", "--cluster",   "gb300-nvl72",
                          "--gpus",         "256",         "--seq-len",   "4096",
                          "--global-batch", "4096",        "--precision", "mxfp8",
                          "--pp",           "2",           "--vpp",       "8",
                          "--ep",           "32",          "--layout",    "Et*4|(t*4|)*14tmL",
                          "--tokens",       "15T"},
          capacity(),
          capacity() + Words{"--budget", "1M"},
          capacity() + Words{"--budget", "10$"},
          {"validate", "--tier", "L"}};
}

// Lines that are longer than the terminal.
std::string too_long(const std::string& text, std::size_t columns) {
  std::istringstream in(text);
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (line.size() > columns) found += line + "\n";
  }
  return found;
}

TEST(TerminalWidth, NoLineIsLongerThanTheTerminal) {
  for (const std::size_t columns : {80, 100, 140}) {
    const std::string variable = fmt::format("COLUMNS={}", columns);
    for (const Words& request : requests()) {
      const Said run = run_pleat_with({variable, "LC_ALL=C"}, request);
      std::string words;
      for (const std::string& word : request) words += word + " ";
      SCOPED_TRACE(fmt::format("{} {}", variable, words));
      EXPECT_FALSE(run.out.empty()) << run.err;
      EXPECT_EQ(too_long(run.out, columns), "");
      for (const char c : run.out) EXPECT_GE(c, 0);  // ASCII
    }
  }
}

// In a pipe, and nothing said: 100.
TEST(TerminalWidth, APipeHasAHundredColumns) {
  const Words request = Words{"plan"} + deepseek_words();
  const Said piped = run_pleat(request);
  EXPECT_EQ(piped.out, run_pleat_with({"COLUMNS=100"}, request).out);
  EXPECT_NE(piped.out, run_pleat_with({"COLUMNS=80"}, request).out);
  EXPECT_EQ(piped.out, run_pleat_with({"COLUMNS=wide"}, request).out);
}

TEST(TerminalWidth, SignsBeyondAsciiWhereTheLocaleHasThem) {
  const Words request = Words{"predict"} + mixtral() + Words{"--ep", "8"};
  EXPECT_THAT(run_pleat_with({"LC_ALL=C.UTF-8"}, request).out, HasSubstr("(\u00b1"));
  EXPECT_THAT(run_pleat_with({"LC_ALL=C"}, request).out, HasSubstr("(+-"));
}

void expect_in_order(const std::string& text, const Words& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << " is not behind what comes before it\n" << text;
    if (found != std::string::npos) at = found;
  }
}

TEST(TerminalWidth, WhatIsAskedFirstComesFirst) {
  for (const char* columns : {"COLUMNS=80", "COLUMNS=100", "COLUMNS=140"}) {
    SCOPED_TRACE(columns);
    const auto said = [&](const Words& request) { return run_pleat_with({columns}, request).out; };
    expect_in_order(said(Words{"plan"} + deepseek_words() + Words{"--tokens", "15T", "--explain"}),
                    {"deepseek-v3 on 256 x gb300-nvl72",
                     "\nstep time ",
                     "between ",
                     "\ntraining ",
                     " days for 15T tokens",
                     "\nthroughput ",
                     " tokens/s",
                     "\nMFU ",
                     "\nmemory ",
                     " free",
                     "\nlimited by ",
                     "\nnext best ",
                     "#2 is ",
                     "\ncertainty ",
                     "proven: ",
                     "\nto run it ",
                     "pleat export --to megatron plan.json",
                     "\nplan\n  parallel ",
                     "\n  experts ",
                     "\n  batch ",
                     "\n  formats ",
                     "\n  exchange ",
                     "\n  memory ",
                     "\nthe 5 best plans",
                     "\nbeside the winner\n",
                     "\nwhy #1 takes as long\n",
                     "\nwhat would change the answer\n",
                     "\nagainst #1\n",
                     "\nwhat became of all plans\n",
                     "\nnot tried\n",
                     "\nassumed: "});
    expect_in_order(
        said(Words{"predict"} + mixtral() + Words{"--pp", "2", "--ep", "8", "--explain"}),
        {"mixtral-8x7b on 64 x h100-sxm", "\nstep time ", "\nthroughput ", " days for 1T tokens",
         "\nMFU ", "\nmemory ", " free", "\nlimited by ", "\nprofile ", "\nplan\n",
         "\nwhere the step goes (stage ", "\nstages\n", "\nwhat bounds the step\n",
         "\nlongest operations of stage ", "\nsingle changes on the same GPUs\n", "\nassumed: "});
    expect_in_order(said(capacity()),
                    {"gpt-1.7b: 100B tokens", "\ncheapest that meets the deadline: ", "\n  time ",
                     " days (P50)", " days (P90)", "\n  cost ", "\n  booked ", "\n  plan ",
                     "\n  its plan file\n", "pleat plan --model gpt-1.7b", "\noffers\n", "GPUs",
                     "\nwhat matters most to ", "\nprices and assumptions", "\nassumed: "});
  }
}

// Blanks and line ends do not count.
std::string squeezed(const std::string& text) {
  std::string words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

double real(const JsonValue& of, const char* name) { return *of.find(name)->as_double(); }

// Each plan's figures, why it is slower, every counter, what was not tried.
TEST(TerminalWidth, NoFigureOfASearchIsLost) {
  const Words request = Words{"plan"} + deepseek_words() + Words{"--explain"};
  const JsonValue json = parse_json(run_pleat(request + Words{"--json"}).out, "stdout");
  for (const char* columns : {"COLUMNS=80", "COLUMNS=140"}) {
    SCOPED_TRACE(columns);
    const std::string text = squeezed(run_pleat_with({columns}, request).out);
    for (const JsonValue& plan : json.find("best")->items()) {
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.2f}", real(plan, "step_s") * 1e3)));
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.1f}", real(plan, "tokens_per_second_per_gpu"))));
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.1f}%", 100 * real(plan, "mfu"))));
      const auto peak = static_cast<double>(*plan.find("peak_bytes")->as_integer());
      EXPECT_THAT(text, HasSubstr(fmt::format("{:.2f}", peak / (1024.0 * 1024 * 1024))));
      if (const JsonValue* why = plan.find("against_best")) {
        const std::string words = *why->as_string();
        EXPECT_THAT(text,
                    HasSubstr(words.substr(0, words.find(':'))));  // "0.7% slower (79.78 ms more)"
      }
    }
    for (const JsonMember& counter : json.find("rejected")->members()) {
      EXPECT_THAT(text, HasSubstr(grouped(*counter.value.as_integer()))) << counter.key;
    }
    EXPECT_THAT(text, HasSubstr(grouped(*json.find("enumerated")->as_integer())));
    EXPECT_THAT(text, HasSubstr(grouped(*json.find("priced")->as_integer()) + " priced"));
    for (const JsonValue& n : json.find("not_tried")->items()) {
      EXPECT_THAT(text, HasSubstr(squeezed(*n.find("why")->as_string())));
    }
  }
}

TEST(TerminalWidth, CountersAreWordsAndOnlyWhereAskedFor) {
  const Words request = Words{"plan"} + deepseek_words();
  const std::string plain = run_pleat(request).out;
  const std::string explained = run_pleat(request + Words{"--explain"}).out;
  EXPECT_THAT(plain, Not(HasSubstr("priced")));
  EXPECT_THAT(plain, Not(HasSubstr("plans in the space")));
  for (const char* word : {"no-effect", "over-saving", "variant", "time-bound"}) {
    EXPECT_THAT(plain, Not(HasSubstr(word)));
    EXPECT_THAT(explained, Not(HasSubstr(word)));
  }
  EXPECT_THAT(explained, HasSubstr("differ from another plan only in options without effect here"));
}

TEST(TerminalWidth, DaysOfTheTokensAskedFor) {
  const Words request = Words{"predict"} + mixtral() + Words{"--ep", "8", "--tokens", "2T"};
  const JsonValue json = parse_json(run_pleat(request + Words{"--json"}).out, "stdout");
  const JsonValue& training = *json.find("training");
  const double steps = std::ceil(2e12 / (256.0 * 4096));
  EXPECT_EQ(real(training, "steps"), steps);
  EXPECT_NEAR(real(training, "days"), steps * real(json, "step_s") / 86400, 1e-9);
  EXPECT_LT(real(training, "days_low"), real(training, "days"));
  EXPECT_THAT(run_pleat(request).out,
              HasSubstr(fmt::format("{:.1f} days for 2T tokens", real(training, "days"))));
  const Said wrong = run_pleat(Words{"plan"} + mixtral() + Words{"--tokens", "2X"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("--tokens: \"2X\" has the unknown unit \"X\"\n  hint: a number"));
}

// The command that an answer names is one that works.
TEST(TerminalWidth, TheCommandsItNamesWork) {
  const std::string file = test_folder() + "/plan.json", job = test_folder() + "/train.sh";
  const Said run =
      run_pleat(Words{"plan"} + qwen() + Words{"--tp", "1", "--cp", "1", "--out", file});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(squeezed(run.out), HasSubstr("pleat export --to megatron " + file + " -o train.sh"));
  EXPECT_THAT(squeezed(run.out), HasSubstr("pleat launch --to slurm " + file + " -o job.sh"));
  EXPECT_EQ(run_pleat({"export", "--to", "megatron", file, "-o", job}).exit_code, 0);
  const Said launched = run_pleat({"launch", "--to", "slurm", file, "-o", job + ".slurm"});
  EXPECT_EQ(launched.exit_code, 0) << launched.err;
}

}  // namespace
}  // namespace pleat::cli_test
