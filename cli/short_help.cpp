// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/short_help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/suggestions.hpp"
#include "console/output.hpp"
#include "console/style.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"

namespace pleat::cli {
namespace {

struct Task {
  std::string_view what, command;
};

struct ShortHelp {
  std::string_view command;
  std::vector<std::string_view> options;
  std::vector<Task> tasks;
};

const std::vector<ShortHelp>& short_helps() {
  static const std::vector<ShortHelp> all{
      {"plan",
       {"--model", "--cluster", "--gpus", "--seq-len", "--global-batch", "--precision", "--tokens",
        "--explain", "--out", "--html"},
       {{"Plan a model that ships (`pleat models`, `pleat clusters`)",
         "pleat plan -m mixtral-8x7b -c h100-sxm -n 64 -s 4k -b 256 --out plan.json"},
        {"Plan a model and a cluster of your own",
         "pleat plan -m my-moe/config.json -c my-cluster.json -n 64 -s 4k -b 4M"},
        {"Choose the number formats, too",
         "pleat plan -m qwen3-30b-a3b -c h100-sxm -n 16 -s 4k -b 512 --numerics any"},
        {"Ask what binds the best plan, and price your own beside it",
         "pleat plan -m mixtral-8x7b -c h100-sxm -n 64 -s 4k -b 256 --explain "
         "--compare tp=2,pp=4,ep=8"},
        {"Fix a part of the plan, search the rest",
         "pleat plan -m mixtral-8x7b -c h100-sxm -n 64 -s 4k -b 256 --tp 1,2 --pp 1..4"}}},
      {"predict",
       {"--plan", "--model", "--cluster", "--gpus", "--seq-len", "--global-batch", "--tp", "--pp",
        "--ep", "--explain"},
       {{"Why does my job take so long, and what would help?",
         "pleat predict -m mixtral-8x7b -c h100-sxm -n 64 -s 4k -b 256 --tp 2 --pp 2 --ep 8 "
         "--explain"},
        {"Price a plan file, and look at its timeline in a browser",
         "pleat predict --plan plan.json --html report.html --trace trace.json"}}},
      {"capacity",
       {"--model", "--tokens", "--deadline", "--budget", "--clusters", "--gpus", "--precision",
        "--price", "--imbalance", "--html"},
       {{"What could it be? On usual clusters, for two months",
         "pleat capacity -m mixtral-8x7b -t 1T"},
        {"What to book for a deadline",
         "pleat capacity -m deepseek-v3 -t 15T -d 60d -c h100-sxm,gb200-nvl72"},
        {"How far a budget goes, at prices of your own",
         "pleat capacity -m llama3-70b -t 2T --budget 3M -c h100-sxm -n 256..4096 --price 2.2$"}}},
      {"train",
       {"--plan", "--data", "--model", "--gpus", "--steps", "--lr", "--save", "--resume",
        "--log-json", "--dry-run"},
       {{"Train a small model on this machine's cores",
         "pleat train --model tiny-moe --gpus 4 --ep 4 --seq-len 128 --global-batch 8 --steps 10"},
        {"Run a plan on a text of yours",
         "pleat train --plan plan.json --data corpus.txt --steps 100"},
        {"Save on the way, and go on after an interruption",
         "pleat train --plan plan.json --data corpus.txt --steps 5000 --save ckpt "
         "--save-every 500 --resume"}}},
      {"tune",
       {"--on", "--model", "--cluster", "--gpus", "--seq-len", "--global-batch", "--trials",
        "--budget", "--out", "--dry-run"},
       {{"See the whole loop on this machine", "pleat tune"},
        {"Try the best plans of a job under Slurm, and keep the fastest",
         "pleat tune --on slurm --runtime megatron -m qwen3-30b-a3b -c h100-sxm -n 64 -s 4k "
         "-b 512 --trials 12 --budget 2h --dry-run"}}},
      {"export",
       {"--to", "--out", "--force", "--dry-run", "--json"},
       {{"A plan as flags of Megatron-LM, to source in a job file",
         "pleat export --to megatron plan.json -o plan.megatron.sh"},
        {"As a configuration of torchtitan", "pleat export --to torchtitan plan.json"}}}};
  return all;
}

const ShortHelp* short_help_of(const CLI::App& command) {
  const std::string name = full_name(command);
  const auto& all = short_helps();
  const auto found = std::ranges::find_if(
      all, [&](const ShortHelp& one) { return name == "pleat " + std::string(one.command); });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> groups_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const std::string& group : command.get_groups()) {
    if (!group.empty() && group != "Options" && group != "Positionals") names.push_back(group);
  }
  return names;
}

std::size_t listed_options(const CLI::App& command) {
  return static_cast<std::size_t>(
      std::ranges::count_if(command.get_options(), [](const CLI::Option* option) {
        return !option->get_lnames().empty() && !option->get_group().empty();
      }));
}

// Where the description of an entry begins.
constexpr std::size_t kDescription = 30;

}  // namespace

void add_full_help(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    if (short_help_of(*command) == nullptr) continue;
    command->set_help_flag("-h,--help", "The options that matter, with examples");
    command->set_help_all_flag("--help-all", "All options");
  }
}

std::string short_help(const CLI::App& app, const CLI::App& command) {
  const ShortHelp* const help = short_help_of(command);
  if (help == nullptr) return help_text(app, &command);
  const CLI::Formatter formatter;
  std::string usage = formatter.make_usage(&command, full_name(command));
  while (usage.ends_with('\n')) usage.pop_back();
  std::string text = command.get_description() + "\n" + usage + "\n";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) text += "\n" + formatter.make_option(option, true);
  }
  text += "\nThe options that matter:\n";
  for (const std::string_view name : help->options) {
    text += formatter.make_option(command.get_option(std::string(name)), false);
  }
  text += "\nExamples:\n";
  for (const Task& task : help->tasks) {
    const bool first = task.what == help->tasks.front().what;
    text += fmt::format("{}  # {}\n{}", first ? "" : "\n", task.what,
                        wrap_command(std::string(task.command), 96, {"  ", "      "}));
  }
  const std::vector<std::string> groups = groups_of(command);
  text += fmt::format("\n`{} --help-all` lists all {} options{}.\n", full_name(command),
                      listed_options(command),
                      groups.empty() ? "" : fmt::format(": {}", fmt::join(groups, "; ")));
  return text;
}

std::string fit_help(const std::string& text, std::size_t columns) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool entry = line.starts_with("  ") && line.size() > kDescription &&
                       columns > 2 * kDescription;
    if (shown_width(line) <= columns) {
      out += line + "\n";
    } else if (line.starts_with("  pleat ")) {
      out += wrap_command(line.substr(2), columns, {"  ", "      "});
    } else if (entry && line[kDescription - 1] == ' ') {
      const std::string blank(kDescription, ' ');
      out += wrap_words(line.substr(kDescription), columns, {line.substr(0, kDescription), blank});
    } else {
      out += wrap_words(line, columns, {"", "    "});
    }
  }
  return out;
}

void print_help(const std::string& text) {
  const Terminal shown = terminal();
  const std::string fitted = shown.told ? fit_help(text, shown.columns) : text;
  print(stdout_has_colours() ? colour_help(fitted) : fitted);
}

}  // namespace pleat::cli
