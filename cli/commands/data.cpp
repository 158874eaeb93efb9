// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat data make, inspect, tokenize
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {
namespace {

constexpr const char* kTokenizer = "'byte', a tokenizer.json of Hugging Face, or a folder with one";

void add_make(CLI::App& data, Action& action, const BackendCommands& backend) {
  CLI::App* command = data.add_subcommand("make", "Text files to PREFIX.bin and PREFIX.idx");
  const auto o = std::make_shared<MakeDataOptions>();
  command->add_option("FILE", o->files, "Text, or JSON lines (.jsonl)")->required();
  command->add_option("-o,--out", o->out, "PREFIX of the two files")->required();
  command->add_option("--tokenizer", o->tokenizer, kTokenizer)->capture_default_str();
  command
      ->add_option(
          "--documents", o->documents,
          "What a document is: file, line, paragraph or jsonl (auto: jsonl for .jsonl, else file)")
      ->capture_default_str()
      ->check(one_of({"auto", "file", "line", "paragraph", "jsonl"}));
  command->add_option("--json-key", o->json_key, "Member with the text, of JSON lines")
      ->capture_default_str();
  CLI::Option* eod =
      command->add_option("--eod", o->eod, "Token after each document (default: the tokenizer's)");
  command->add_flag("--no-eod", o->no_eod, "Put no token after a document")->excludes(eod);
  command->add_flag("--specials", o->specials,
                    "Put the tokenizer's template (BOS, EOS) around each document");
  command->add_option("-j,--jobs", o->jobs, "Threads; documents are shared out")
      ->capture_default_str()
      ->check(in_range(1, 1024));
  command->add_flag("--force", o->force, "Replace files that are there");
  command->add_flag("--dry-run", o->dry_run, "Write nothing, say what would be written");
  command->footer(
      "Examples:\n"
      "  pleat data make books/*.txt --documents paragraph --tokenizer Qwen3/ -o books\n"
      "  pleat data make web.jsonl --json-key content --tokenizer llama/tokenizer.json \\\n"
      "    --eod '<|end_of_text|>' --jobs 16 -o web --dry-run");
  command->callback([&action, run = backend.make_data, o] { action = [run, o] { run(*o); }; });
}

void add_inspect(CLI::App& data, Action& action, const BackendCommands& backend) {
  CLI::App* command =
      data.add_subcommand("inspect", "Counts of a dataset, and the order of its samples");
  const auto o = std::make_shared<InspectDataOptions>();
  constexpr std::int64_t kMost = 1'000'000'000'000, kLongest = 16'777'216;
  command
      ->add_option("DATA", o->source,
                   "What `pleat train --data` takes: a prefix, a text file, a blend")
      ->required();
  command->add_option("--tokenizer", o->tokenizer,
                      "Prints tokens as text: " + std::string(kTokenizer));
  command->add_option("--seq-len", o->seq_len, "Shows samples of this length")
      ->check(in_range(std::int64_t{1}, kLongest));
  command
      ->add_option("--samples", o->samples,
                   "How many samples the run takes: it decides how often data is repeated")
      ->check(in_range(std::int64_t{1}, kMost));
  command->add_option("--seed", o->seed, "Seed of the order")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, std::int64_t{4'294'967'295}));
  command->add_option("--split", o->split, "Shares of documents for train, valid and test")
      ->capture_default_str();
  command->add_option("--part", o->part, "train, valid or test")
      ->capture_default_str()
      ->check(one_of({"train", "valid", "test"}));
  command->add_option("--sample", o->sample, "The sample to print")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, kMost));
  command->add_option("--show", o->show, "Tokens to print of it")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, kMost));
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat data inspect books --tokenizer Qwen3/\n"
      "  pleat data inspect \"0.3 books 0.7 web\" --seq-len 4096 --samples 100000 --seed 1234 "
      "--sample 17");
  command->callback([&action, run = backend.inspect_data, o] { action = [run, o] { run(*o); }; });
}

void add_tokenize(CLI::App& data, Action& action, const BackendCommands& backend) {
  CLI::App* command = data.add_subcommand("tokenize", "Token ids of a text");
  const auto o = std::make_shared<TokenizeOptions>();
  CLI::Option* text = command->add_option("TEXT", o->text, "Default: standard input");
  command->add_option("-f,--file", o->file, "Read the text from a file")->excludes(text);
  command->add_option("--tokenizer", o->tokenizer, kTokenizer)->capture_default_str();
  command->add_flag("--specials", o->specials, "With the tokenizer's template (BOS, EOS)");
  command->add_flag("--pieces", o->pieces, "A line a token, with its text");
  command->add_flag("--bench", o->bench, "Print only how fast it was, on one thread");
  command->footer(
      "Examples:\n"
      "  pleat data tokenize --tokenizer Qwen3/ In the beginning\n"
      "  pleat data tokenize --tokenizer llama/tokenizer.json --specials --pieces -f prompt.txt");
  command->callback([&action, run = backend.tokenize_text, o] { action = [run, o] { run(*o); }; });
}

}  // namespace

void add_data_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command = app.add_subcommand("data", "Tokenize, make and inspect training data");
  command->require_subcommand(1);
  add_make(*command, action, backend);
  add_inspect(*command, action, backend);
  add_tokenize(*command, action, backend);
  command->footer(
      "Examples:\n"
      "  pleat help data make\n"
      "  pleat data make books/*.txt --documents paragraph --tokenizer Qwen3/ -o books\n"
      "  pleat data inspect books --seq-len 4096 --samples 1000");
}

}  // namespace pleat::cli
