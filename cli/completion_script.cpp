// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Commands, then flags of the command; values are completed from fixed words where an option has
// them, else as file names.
#include "cli/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <vector>

#include "cli/interop_targets.hpp"
#include "cli/workflow/import.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::cli {
namespace {

struct Word {
  std::string name, text;
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\'' || c == '"' || c == '`' || c == '$' || c == '\\') c = ' ';
  return text;
}

// With those of the commands of a command: the scripts look at one word only.
std::vector<Word> flags_of(const CLI::App& command) {
  std::vector<Word> flags;
  for (const CLI::App* inner : command.get_subcommands({})) {
    for (Word& flag : flags_of(*inner)) {
      const bool known = std::any_of(flags.begin(), flags.end(), [&](const Word& w) { return w.name == flag.name; });
      if (!known) flags.push_back(std::move(flag));
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) {
      const bool known = std::any_of(flags.begin(), flags.end(), [&](const Word& w) { return w.name == "--" + name; });
      if (!known) flags.push_back({"--" + name, one_line(option->get_description())});
    }
  }
  return flags;
}

// Words after a flag or a command; models and clusters as they are when the script is made.
std::map<std::string, std::vector<std::string>> values_of(const std::string& command) {
  std::map<std::string, std::vector<std::string>> values{
      {"--model", config_names(ConfigKind::model)},
      {"--cluster", config_names(ConfigKind::cluster)},
      {"--profile", config_names(ConfigKind::profile)},
      {"--runtime", {"megatron", "pleat"}},
      {"--precision",
       {"fp32", "fp16", "bf16", "fp8", "fp8_delayed", "fp8_block", "mxfp8", "nvfp4"}},
      {"--sharding", {"none", "zero1", "zero2", "zero3"}},
      {"--dispatcher", {"allgather", "alltoall", "deepep", "hybridep", "hierarchical"}},
      {"--cp-comm", {"p2p", "all_gather", "all_to_all", "a2a+p2p"}},
      {"--cuda-graph", {"none", "router", "partial", "full_iteration"}},
      {"--schedule", {"1f1b", "zb-h1", "zb-v", "dualpipe", "dualpipe-v"}}};
  if (command == "plan") {
    for (const char* flag : {"--fp8-attention", "--fp8-head", "--fp8-dispatch", "--fp8-combine",
                             "--fp8-params", "--tile-overlap", "--optimizer-offload"}) {
      values[flag] = {"on", "off", "any"};
    }
    values["--objective"] = {"throughput", "time-to-train", "cost", "memory-headroom"};
    values["--sensitivity"] = {"plans", "search"};
  }
  if (command == "export") values["--to"] = target_names();
  if (command == "launch") {
    values["--to"] = {"slurm", "kubernetes", "mpirun"};
    values["--kind"] = {"trainjob", "pytorchjob", "jobset", "mpijob"};
  }
  if (command == "data") {
    values[""] = {"make", "inspect", "tokenize"};
    values["--documents"] = {"file", "line", "paragraph", "jsonl"};
  }
  if (command == "import") values[""] = import_kinds();
  if (command == "completion") values[""] = {"bash", "zsh", "fish"};
  if (command == "model") values[""] = config_names(ConfigKind::model);
  return values;
}

bool has_flag(const std::vector<Word>& flags, const std::string& name) {
  for (const Word& w : flags)
    if (w.name == name) return true;
  return false;
}

std::vector<std::string> names(const std::vector<Word>& words) {
  std::vector<std::string> list;
  for (const Word& w : words) list.push_back(w.name);
  return list;
}

std::vector<Word> commands_of(const CLI::App& app) {
  std::vector<Word> list;
  for (const CLI::App* c : app.get_subcommands({}))
    list.push_back({c->get_name(), one_line(c->get_description())});
  return list;
}

std::string bash_script(const CLI::App& app) {
  std::string text =
      "# bash completion for pleat\n_pleat() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  local command=\"${COMP_WORDS[1]}\" words=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  text += fmt::format("    words='{}'\n  else\n    case \"$command\" in\n",
                      fmt::join(names(commands_of(app)), " "));
  for (const CLI::App* c : app.get_subcommands({})) {
    const std::vector<Word> flags = flags_of(*c);
    text += fmt::format("    {})\n      case \"$previous\" in\n", c->get_name());
    std::string after_command;
    for (const auto& [flag, values] : values_of(c->get_name())) {
      if (flag.empty())
        after_command = fmt::format(" {}", fmt::join(values, " "));
      else if (has_flag(flags, flag))
        text += fmt::format("      {}) words='{}' ;;\n", flag, fmt::join(values, " "));
    }
    text += fmt::format("      *) words='{}{}' ;;\n      esac ;;\n", fmt::join(names(flags), " "),
                        after_command);
  }
  return text +
         "    esac\n  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "  if ((${#COMPREPLY[@]} == 0)) && ((COMP_CWORD > 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n  fi\n"
         "}\ncomplete -o filenames -F _pleat pleat\n";
}

std::string zsh_script(const CLI::App& app) {
  std::string text =
      "#compdef pleat\n# zsh completion for pleat\n_pleat() {\n"
      "  local -a commands flags values\n  commands=(\n";
  for (const Word& c : commands_of(app)) text += fmt::format("    '{}:{}'\n", c.name, c.text);
  text +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  values=()\n  case \"${words[2]}\" in\n";
  for (const CLI::App* c : app.get_subcommands({})) {
    const std::vector<Word> flags = flags_of(*c);
    text += fmt::format("  {})\n    flags=(\n", c->get_name());
    for (const Word& flag : flags) text += fmt::format("      '{}:{}'\n", flag.name, flag.text);
    text += "    )\n    case \"${words[CURRENT-1]}\" in\n";
    for (const auto& [flag, values] : values_of(c->get_name())) {
      const std::string word = flag.empty() ? c->get_name() : flag;
      if (flag.empty() || has_flag(flags, flag))
        text += fmt::format("    {}) values=({}) ;;\n", word, fmt::join(values, " "));
    }
    text += "    esac ;;\n";
  }
  return text +
         "  esac\n"
         "  if ((${#values})); then\n    compadd -a values\n"
         "  elif [[ ${words[CURRENT]} == -* ]]; then\n    _describe flag flags\n"
         "  else\n    _files\n  fi\n}\n"
         "if [[ \"${funcstack[1]}\" == _pleat ]]; then _pleat \"$@\"; else compdef _pleat "
         "pleat; fi\n";
}

std::string fish_script(const CLI::App& app) {
  std::string text = "# fish completion for pleat\n";
  for (const Word& c : commands_of(app)) {
    text += fmt::format("complete -c pleat -n __fish_use_subcommand -f -a {} -d '{}'\n", c.name,
                        c.text);
  }
  for (const CLI::App* c : app.get_subcommands({})) {
    const std::string seen = fmt::format("'__fish_seen_subcommand_from {}'", c->get_name());
    const auto values = values_of(c->get_name());
    for (const Word& flag : flags_of(*c)) {
      const auto known = values.find(flag.name);
      text += fmt::format("complete -c pleat -n {} -l {} -d '{}'", seen, flag.name.substr(2),
                          flag.text);
      if (known != values.end()) text += fmt::format(" -x -a '{}'", fmt::join(known->second, " "));
      text += "\n";
    }
    if (const auto words = values.find(""); words != values.end())
      text += fmt::format("complete -c pleat -n {} -a '{}'\n", seen, fmt::join(words->second, " "));
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "zsh") return zsh_script(app);
  return shell == "fish" ? fish_script(app) : bash_script(app);
}

}  // namespace pleat::cli
