// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat data as a user meets it: files, order, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kTokenizer =
    std::string(PLEAT_SOURCE_DIR) + "/tests/backend/data/tokenizers/qwen2.json";

std::string folder_with_text() {
  const std::string folder = test_folder() + "/data";
  std::filesystem::create_directories(folder);
  write_text(folder + "/a.txt", "In the beginning God created\nthe heaven and the earth.\n");
  return folder;
}

TEST(Data, MakesInspectsAndTrainsOnADataset) {
  const std::string folder = folder_with_text();
  const std::string prefix = folder + "/a";
  const Said made = run_pleat({"data", "make", folder + "/a.txt", "--documents", "line",
                               "--tokenizer", kTokenizer, "--eod", "<|endoftext|>", "-o", prefix});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("2 documents"));
  EXPECT_THAT(files_in(folder), ElementsAre("a.bin", "a.idx", "a.txt"));
  const Said counts = run_pleat({"data", "inspect", prefix, "--tokenizer", kTokenizer});
  EXPECT_EQ(counts.exit_code, 0) << counts.err;
  EXPECT_THAT(counts.out, HasSubstr("2 documents, 2 sequences"));
  EXPECT_THAT(counts.out, HasSubstr("(uint16)"));
  EXPECT_THAT(counts.out, HasSubstr("as text: In the beginning God created<|endoftext|>"));
  const Said order = run_pleat({"data", "inspect", "0.3 " + prefix + " 0.7 " + folder + "/a.txt",
                                "--seq-len", "8", "--samples", "20", "--sample", "3", "--json"});
  EXPECT_EQ(order.exit_code, 0) << order.err;
  EXPECT_THAT(order.out, HasSubstr("\"samples\": 20"));
  const std::vector<std::string> train{"train", "--model", "tiny-moe",  "--gpus", "2",
                                       "--ep",  "2",       "--seq-len", "16",     "--global-batch",
                                       "4",     "--steps", "2",         "--json", "--data"};
  EXPECT_EQ(run_pleat({"data", "make", folder + "/a.txt", "-o", folder + "/bytes"}).exit_code, 0);
  const Said trained = run_pleat(
      train + std::vector<std::string>{"0.3 " + folder + "/bytes 0.7 " + folder + "/a.txt",
                                       "--split", "969, 30, 1", "--eod-mask-loss"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("\"loss\""));
  const Said foreign = run_pleat(train + std::vector<std::string>{prefix});
  EXPECT_EQ(foreign.exit_code, 3);
  EXPECT_THAT(foreign.err, HasSubstr("is not in the vocabulary of 256 tokens"));
}

TEST(Data, TokenizesArgumentsAndFiles) {
  const std::string folder = folder_with_text();
  EXPECT_EQ(run_pleat({"data", "tokenize", "a", "b"}).out, "97 32 98\n");
  EXPECT_EQ(run_pleat({"data", "tokenize", "--pieces", "hi"}).out, "    104  h\n    105  i\n");
  const Said file =
      run_pleat({"data", "tokenize", "-f", folder + "/a.txt", "--tokenizer", kTokenizer});
  EXPECT_EQ(file.exit_code, 0) << file.err;
  EXPECT_EQ(run_pleat({"data", "tokenize", "-f", folder}).exit_code, 5);
}

TEST(Data, ADryRunWritesNothingAndFilesAreNotReplaced) {
  const std::string folder = folder_with_text();
  const std::vector<std::string> make{"data", "make", folder + "/a.txt", "-o", folder + "/a"};
  const Said dry = run_pleat(make + std::vector<std::string>{"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_THAT(dry.err,
              HasSubstr("would write " + folder + "/a.bin and " + folder + "/a.idx: 1 documents"));
  EXPECT_THAT(files_in(folder), ElementsAre("a.txt"));
  EXPECT_EQ(run_pleat(make).exit_code, 0);
  const Said again = run_pleat(make);
  EXPECT_EQ(again.exit_code, 7);
  EXPECT_THAT(again.err, HasSubstr("a.bin: is there already"));
  EXPECT_EQ(run_pleat(make + std::vector<std::string>{"--force"}).exit_code, 0);
}

TEST(Data, BadInputHasItsExitCodeAndLeavesNothing) {
  const std::string folder = folder_with_text();
  write_text(folder + "/bad.jsonl", "{\"text\": \"x\"}\nnonsense\n");
  write_text(folder + "/unigram.json", R"({"model": {"type": "Unigram", "vocab": []}})");
  write_text(folder + "/e.idx", "MMIDIDX");
  write_text(folder + "/e.bin", "");
  const auto exit_code = [&](const std::vector<std::string>& arguments,
                             const std::string& message) {
    const Said said = run_pleat(arguments);
    EXPECT_THAT(said.err, HasSubstr(message));
    return said.exit_code;
  };
  const std::string out = folder + "/x";
  EXPECT_EQ(exit_code({"data", "make", folder + "/bad.jsonl", "-o", out},
                      "bad.jsonl:2: is not valid JSON"),
            3);
  EXPECT_EQ(exit_code({"data", "make", folder + "/none", "-o", out}, "none: cannot read"), 5);
  EXPECT_EQ(exit_code({"data", "make", folder + "/a.txt", "-o", folder + "/no/x"}, "the folder"),
            5);
  EXPECT_EQ(exit_code({"data", "make", folder + "/a.txt", "-o", out, "--tokenizer",
                       folder + "/unigram.json"},
                      "model.type: 'Unigram' is not supported"),
            3);
  EXPECT_EQ(exit_code({"data", "make", folder + "/a.txt", "-o", out, "--tokenizer", kTokenizer},
                      "which token ends a document"),
            2);
  EXPECT_EQ(exit_code({"data", "inspect", folder + "/e"}, "e.idx: is no index of Megatron-LM"), 3);
  EXPECT_EQ(exit_code({"data", "inspect", folder + "/a.txt", "--seq-len", "4", "--split", "x"},
                      "--split"),
            2);
  EXPECT_EQ(exit_code({"data", "inspect", "0.5"}, "has a weight without a name"), 2);
  EXPECT_EQ(
      exit_code({"data", "mke"}, "unknown command 'pleat data mke'\n  hint: did you mean 'make'?"),
      2);
  EXPECT_THAT(files_in(folder),
              ElementsAre("a.txt", "bad.jsonl", "e.bin", "e.idx", "unigram.json"));
}

TEST(Data, SamplesThatNoMemoryHolds) {
  const std::string folder = folder_with_text(), err = folder + "/err";
  write_text(folder + "/long.txt", std::string(1'000'000, 'a'));
  const std::string inspect = "data inspect " + folder + "/long.txt --json --seq-len ";
  const auto said = [&](const std::string& tokens) {
    const std::string command = "ulimit -v 900000; exec '" PLEAT_BINARY "' " + inspect + tokens;
    const int status = std::system(("( " + command + " ) >/dev/null 2>" + err).c_str());
    return std::to_string(WEXITSTATUS(status)) + " " + read_text(err);
  };
  EXPECT_THAT(said("1000"), ::testing::StartsWith("0 "));
  EXPECT_THAT(said("16777216"), ::testing::StartsWith("5 error: out of memory\n"));
  EXPECT_THAT(said("16777217"), ::testing::AllOf(::testing::StartsWith("2 error: --seq-len: "),
                                                 HasSubstr("16777216")));
}

TEST(Data, EachCommandHasHelpWithExamples) {
  for (const char* command : {"make", "inspect", "tokenize"}) {
    const Said flag = run_pleat({"data", command, "--help"});
    EXPECT_EQ(flag.exit_code, 0);
    EXPECT_EQ(flag.out, run_pleat({"help", "data", command}).out);
    EXPECT_THAT(flag.out, HasSubstr(std::string("Usage: pleat data ") + command));
    EXPECT_THAT(flag.out, HasSubstr("Examples:\n  pleat data "));
  }
}

}  // namespace
}  // namespace pleat::cli_test
