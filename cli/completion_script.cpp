// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Commands, then flags of the command; values are completed from the words that an option has
// (cli/option_choices.hpp), of lists the last item, else as file names.
#include "cli/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "cli/option_choices.hpp"

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

struct Flag {
  std::string name, text;           // "--model"
  std::vector<std::string> shorts;  // "-m"
  std::vector<std::string> choices;
  bool takes_value = false, takes_file = false;  // a file instead of a choice
};

// All that can follow a command.
struct Command {
  std::string name;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // its own commands, choices of what has no flag
};

template <class T>
void add_once(std::vector<T>& list, T item, const auto& same) {
  if (!std::any_of(list.begin(), list.end(), same)) list.push_back(std::move(item));
}

void add_word(std::vector<std::string>& words, const std::string& word) {
  add_once(words, word, [&](const std::string& w) { return w == word; });
}

void add_flag(Command& known, Flag flag) {
  const auto same = [&](const Flag& f) { return f.name == flag.name; };
  add_once(known.flags, flag, same);
  Flag& all = *std::find_if(known.flags.begin(), known.flags.end(), same);
  for (const std::string& word : flag.choices) add_word(all.choices, word);
}

// With those of the commands of a command: the scripts look at one word only.
void add_options(Command& known, CLI::App& command) {
  for (CLI::App* inner : command.get_subcommands({})) {
    add_word(known.words, inner->get_name());
    add_options(known, *inner);
  }
  for (CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      for (const std::string& word : choices_of(*option)) add_word(known.words, word);
      continue;
    }
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) {
      Flag flag{"--" + name,         one_line(option->get_description()),  {},
                choices_of(*option), option->get_items_expected_max() > 0, takes_configs(*option)};
      for (const std::string& letter : option->get_snames()) flag.shorts.push_back("-" + letter);
      add_flag(known, std::move(flag));
    }
  }
}

Command all_of(CLI::App& app, CLI::App& command) {
  Command known{command.get_name(), {}, {}};
  add_options(known, command);
  if (known.name == "help") {
    for (const CLI::App* c : app.get_subcommands({})) known.words.push_back(c->get_name());
  }
  return known;
}

// "--model|-m"
std::string pattern_of(const Flag& flag) {
  std::string pattern = flag.name;
  for (const std::string& name : flag.shorts) pattern += "|" + name;
  return pattern;
}

// Of flags with a value that has no fixed words: file names are offered.
std::string pattern_of_free(const Command& command) {
  std::string pattern;
  for (const Flag& flag : command.flags) {
    if (!flag.takes_value || !flag.choices.empty()) continue;
    pattern += (pattern.empty() ? "" : "|") + pattern_of(flag);
  }
  return pattern;
}

std::vector<std::string> names(const std::vector<Flag>& flags) {
  std::vector<std::string> list;
  for (const Flag& flag : flags) list.push_back(flag.name);
  return list;
}

std::vector<std::string> names(const std::vector<Word>& words) {
  std::vector<std::string> list;
  for (const Word& w : words) list.push_back(w.name);
  return list;
}

std::vector<Word> commands_of(CLI::App& app) {
  std::vector<Word> list;
  for (const CLI::App* c : app.get_subcommands({}))
    list.push_back({c->get_name(), one_line(c->get_description())});
  return list;
}

std::string bash_script(CLI::App& app) {
  std::string text =
      "# bash completion for pleat\n_pleat() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  local command=\"${COMP_WORDS[1]}\" words='' before=''\n"
      // Bash makes three words of --flag=value.
      "  if [[ $current == = ]]; then current=''\n"
      "  elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then\n"
      "    previous=\"${COMP_WORDS[COMP_CWORD-2]}\"\n  fi\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  text += fmt::format("    words='{}'\n  else\n    case \"$command\" in\n",
                      fmt::join(names(commands_of(app)), " "));
  for (CLI::App* c : app.get_subcommands({})) {
    const Command command = all_of(app, *c);
    text += fmt::format("    {})\n      case \"$previous\" in\n", command.name);
    for (const Flag& flag : command.flags) {
      if (flag.choices.empty()) continue;
      // Of a list its last item.
      text += fmt::format("      {}) words='{}' before=\"${{current%\"${{current##*,}}\"}}\" ;;\n",
                          pattern_of(flag), fmt::join(flag.choices, " "));
    }
    if (const std::string free = pattern_of_free(command); !free.empty())
      text += fmt::format("      {}) ;;\n", free);
    text += fmt::format("      *) words='{}{}{}' ;;\n      esac ;;\n",
                        fmt::join(names(command.flags), " "), command.words.empty() ? "" : " ",
                        fmt::join(command.words, " "));
  }
  return text +
         "    esac\n  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- "
         "\"${current#\"$before\"}\")\n"
         "  if ((${#COMPREPLY[@]} == 0)) && ((COMP_CWORD > 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n  fi\n"
         "}\ncomplete -o filenames -F _pleat pleat\n";
}

std::string zsh_script(CLI::App& app) {
  std::string text =
      "#compdef pleat\n# zsh completion for pleat\n_pleat() {\n"
      "  local -a commands flags values\n"
      "  local previous=\"${words[CURRENT-1]}\"\n"
      "  if [[ ${words[CURRENT]} == --*=* ]]; then\n"
      "    previous=\"${words[CURRENT]%%=*}\"; compset -P '*='\n  fi\n"
      "  commands=(\n";
  for (const Word& c : commands_of(app)) text += fmt::format("    '{}:{}'\n", c.name, c.text);
  text +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  values=()\n  case \"${words[2]}\" in\n";
  for (CLI::App* c : app.get_subcommands({})) {
    const Command command = all_of(app, *c);
    text += fmt::format("  {})\n    flags=(\n", command.name);
    for (const Flag& flag : command.flags)
      text += fmt::format("      '{}:{}'\n", flag.name, flag.text);
    text += "    )\n    case \"$previous\" in\n";
    if (!command.words.empty())
      text += fmt::format("    {}) values=({}) ;;\n", command.name, fmt::join(command.words, " "));
    for (const Flag& flag : command.flags) {
      if (flag.choices.empty()) continue;
      text += fmt::format("    {}) values=({}); compset -P '*,' ;;\n", pattern_of(flag),
                          fmt::join(flag.choices, " "));
    }
    text += "    esac ;;\n";
  }
  return text +
         "  esac\n"
         "  if ((${#values})); then\n    compadd -a values || _files\n"
         "  elif [[ $PREFIX == -* ]]; then\n    _describe flag flags\n"
         "  else\n    _files\n  fi\n}\n"
         "if [[ \"${funcstack[1]}\" == _pleat ]]; then _pleat \"$@\"; else compdef _pleat "
         "pleat; fi\n";
}

std::string fish_script(CLI::App& app) {
  std::string text = "# fish completion for pleat\n";
  for (const Word& c : commands_of(app)) {
    text += fmt::format("complete -c pleat -n __fish_use_subcommand -f -a {} -d '{}'\n", c.name,
                        c.text);
  }
  for (CLI::App* c : app.get_subcommands({})) {
    const Command command = all_of(app, *c);
    const std::string seen = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    for (const Flag& flag : command.flags) {
      text += fmt::format("complete -c pleat -n {} -l {}", seen, flag.name.substr(2));
      for (const std::string& name : flag.shorts) text += " -s " + name.substr(1);
      text += fmt::format(" -d '{}'", flag.text);
      const std::string words = fmt::format("{}", fmt::join(flag.choices, " "));
      if (!words.empty()) {
        text +=
            fmt::format(" {} -a '(__fish_complete_list , \"string split \\\" \\\" \\\"{}\\\"\")'",
                        flag.takes_file ? "-r -F" : "-x", words);
      } else if (flag.takes_value) {
        text += " -r";
      }
      text += "\n";
    }
    if (!command.words.empty())
      text += fmt::format("complete -c pleat -n {} -a '{}'\n", seen, fmt::join(command.words, " "));
  }
  return text;
}

}  // namespace

std::string completion_script(CLI::App& app, const std::string& shell) {
  if (shell == "zsh") return zsh_script(app);
  return shell == "fish" ? fish_script(app) : bash_script(app);
}

}  // namespace pleat::cli
