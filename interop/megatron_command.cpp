// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/megatron_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/diagnostics.hpp"
#include "interop/quoting.hpp"
#include "interop/shell_script.hpp"
#include "interop/yaml_text.hpp"

namespace pleat::interop {
namespace {

using Words = std::vector<std::string>;

std::string flag_of(const std::string& word) { return word.substr(0, word.find('=')); }

std::size_t count_flags(const Words& words, const FlagTable& table) {
  std::vector<const Flag*> flags;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const auto found = table.flags.find(flag_of(word));
    if (found != table.flags.end()) flags.push_back(&found->second);
  }
  std::ranges::sort(flags);
  const auto again = std::ranges::unique(flags);
  return flags.size() - again.size();
}

bool is_yaml(const NamedText& file) {
  return file.name.ends_with(".yaml") || file.name.ends_with(".yml");
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A value within a line of a shell: lists and texts of several words are several words.
std::string shell_value(const JsonValue& value) {
  std::string text;
  if (value.is_array()) {
    for (const JsonValue& item : value.items())
      text += (text.empty() ? "" : " ") + shell_value(item);
    return text;
  }
  if (const std::string* const scalar = value.as_string()) text = *scalar;
  // "[attn mlp]" within quotes; no pattern of numbers.
  if (text.starts_with('[') && text.ends_with(']') && text.find('*') == std::string::npos) {
    text = text.substr(1, text.size() - 2);
    std::replace(text.begin(), text.end(), ',', ' ');
  }
  return text == "null" ? "" : text;
}

// MODEL_ARGS has flags, "--num-layers"; ARGS of Megatron-LM's recipes has members, "num_layers".
JsonValue yaml_flags(const JsonValue& root) {
  JsonValue out = JsonValue::object();
  if (const JsonValue* const arguments = root.find("MODEL_ARGS"); arguments != nullptr) {
    for (const JsonMember& m : arguments->members()) out.set(m.key, m.value);
  } else if (const JsonValue* const members = root.find("ARGS"); members != nullptr) {
    for (const JsonMember& m : members->members()) {
      std::string flag = m.key;
      std::replace(flag.begin(), flag.end(), '_', '-');
      out.set("--" + flag, m.value);
    }
  }
  return out;
}

// What yq prints of it, "--flag value" a line.
std::string yaml_lines(const JsonValue& flags) {
  std::string text;
  for (const JsonMember& m : flags.members()) {
    const std::string value = shell_value(m.value);
    text += m.key + (value.empty() ? "" : " " + value) + "\n";
  }
  return text;
}

// The words that it stands for: of a list several, a true one alone, a false one none.
Words yaml_words(const JsonValue& flags, const ShellInput& input, const FlagTable& table,
                 const std::string& where) {
  Words out;
  for (const JsonMember& m : flags.members()) {
    std::string value = shell_value(m.value);
    const auto flag = table.flags.find(m.key);
    const bool many = flag != table.flags.end() && flag->second.type == FlagType::list;
    if (!many) value = value.find('"') == std::string::npos ? "\"" + value + "\"" : "";
    const ShellScript line = follow_script("values " + value + "\n", input, where);
    Words words = line.commands.empty() ? Words{"values"} : line.commands.front().words;
    words.erase(words.begin());
    if (!words.empty() && words.back().empty()) words.pop_back();
    if (words == Words{"false"}) continue;
    if (words == Words{"true"}) words.clear();
    out.push_back(m.key);
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

bool only_prints(const Words& words) {
  return words.empty() || words.front() == "echo" || words.front() == "printf" ||
         words.front() == "cat";
}

int number_of(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && value > 0 && value <= 1 << 20 ? value : 0;
}

// The value of "--name=4", "--name 4", "-N 4" or "-N4".
int option(const Words& words, std::size_t end, std::initializer_list<const char*> names) {
  for (std::size_t i = 0; i < std::min(end, words.size()); ++i) {
    for (const std::string name : names) {
      if (words[i] == name && i + 1 < words.size()) return number_of(words[i + 1]);
      if (words[i].starts_with(name + "=")) return number_of(words[i].substr(name.size() + 1));
      if (name.size() == 2 && words[i].starts_with(name) && number_of(words[i].substr(2)) > 0)
        return number_of(words[i].substr(2));
    }
  }
  return 0;
}

// Where the words of the training script begin: behind "pretrain_gpt.py", or behind the module.
std::size_t script_end(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].ends_with(".py")) return i + 1;
    const std::string program = base_name(words[i]);
    if (program == "python" || program == "python3") {  // a script that a variable names
      std::size_t at = i + 1;
      while (at < words.size() && words[at].starts_with("-") && words[at] != "-m") ++at;
      if (at < words.size() && words[at].front() == kUnknownBegin) return at + 1;
    }
    if ((words[i] == "-m" || words[i] == "--module") && i + 1 < words.size() &&
        !words[i + 1].starts_with("torch.") && i > 0)
      return i + 2;
  }
  return 0;
}

// GPUs where they are said; else ranks, since one task may start a launcher of its own.
int gpus_of_node(const Words& words, std::size_t end) {
  if (const int gpus = option(words, end, {"--gpus-per-node", "--num_gpus"}); gpus > 0) return gpus;
  for (std::size_t i = 0; i < end; ++i) {
    if (!words[i].starts_with("--gres=gpu") || words[i].find(',') != std::string::npos) continue;
    if (const int gpus = number_of(words[i].substr(words[i].rfind(':') + 1)); gpus > 0) return gpus;
  }
  return option(words, end, {"--ntasks-per-node"});
}

int gpus_of_launcher(const Words& words, std::size_t end) {
  const int each = option(words, end, {"--nproc_per_node", "--nproc-per-node"});
  if (each > 0) {
    const int nodes = option(words, end, {"--nnodes"});
    if (nodes > 0) return each * nodes;
    const bool given =
        std::ranges::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(end),
                            [](const auto& w) { return w.starts_with("--nnodes"); });
    return given ? 0 : each;
  }
  if (const int ranks = option(words, end, {"-np", "--np", "-n", "--ntasks"}); ranks > 0)
    return ranks;
  const int nodes = option(words, end, {"-N", "--nodes", "--num_nodes"});
  return nodes * gpus_of_node(words, end);
}

// "#SBATCH --nodes=8" and how many ranks each has.
int gpus_of_job(const std::string& text) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with("#SBATCH ")) continue;
    for (std::string& word : shell_words(line.substr(8))) words.push_back(std::move(word));
  }
  const int nodes = option(words, words.size(), {"--nodes", "-N"});
  return nodes * gpus_of_node(words, words.size());
}

int gpus_of_variables(const std::map<std::string, std::string>& variables) {
  const auto value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? 0 : number_of(known_part(found->second));
  };
  if (const int world = value("WORLD_SIZE"); world > 0) return world;
  const int each = std::max({value("GPUS_PER_NODE"), value("N_TASKS_PER_NODE")});
  return each * std::max(value("NNODES"), value("NUM_NODES"));
}

}  // namespace

TrainingCommand find_command(const std::vector<NamedText>& files,
                             const std::map<std::string, std::string>& variables, int which,
                             const FlagTable& table) {
  ShellInput input{variables, {}, ""};
  const NamedText* main = nullptr;
  std::vector<JsonValue> yaml;
  for (const NamedText& file : files) {
    if (is_yaml(file)) {
      JsonValue flags = yaml_flags(read_yaml(file.text, file.name));
      const std::string lines = yaml_lines(flags);
      yaml.push_back(std::move(flags));
      if (lines.empty()) {
        throw_config_error(
            ExitCode::bad_file, file.name, "MODEL_ARGS", "is not there",
            "a mapping of flags to values, as Megatron-LM's own tests have, or ARGS");
      }
      input.printed_by_yq += lines;
    } else {
      if (main == nullptr) main = &file;
      input.files[base_name(file.name)] = file.text;
    }
  }
  TrainingCommand out;
  std::vector<ShellCommand> found;
  if (main != nullptr) {
    input.files.erase(base_name(main->name));
    ShellScript script = follow_script(main->text, input, main->name);
    const std::size_t least = input.printed_by_yq.empty() ? 3 : 1;
    for (ShellCommand& command : script.commands)
      if (!only_prints(command.words) && count_flags(command.words, table) >= least)
        found.push_back(std::move(command));
    std::size_t most = 0;  // beside tools that take a few flags of training
    for (const ShellCommand& c : found) most = std::max(most, count_flags(c.words, table));
    std::erase_if(found,
                  [&](const ShellCommand& c) { return 2 * count_flags(c.words, table) < most; });
    out.variables = std::move(script.variables);
    const bool only_flags = found.empty() || std::ranges::any_of(found, [](const ShellCommand& c) {
                              return c.words.front().starts_with("--");
                            });
    if (only_flags) found = {{shell_words(main->text), ""}};
  }
  out.commands = static_cast<int>(found.size());
  if (which > out.commands) {
    throw_config_error(ExitCode::bad_request, "--command", "",
                       fmt::format("there are {} commands of training", out.commands), "");
  }
  Words words;
  std::string job;
  if (!found.empty()) {
    ShellCommand& command = found[static_cast<std::size_t>(which > 0 ? which : out.commands) - 1];
    words = std::move(command.words);
    job = std::move(command.job);
  }
  const std::size_t begin = script_end(words);
  out.gpus = gpus_of_launcher(words, begin);
  if (out.gpus == 0) out.gpus = gpus_of_job(job);
  if (out.gpus == 0 && main != nullptr) out.gpus = gpus_of_job(main->text);
  if (out.gpus == 0) out.gpus = gpus_of_variables(out.variables);
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(begin));
  if (!input.printed_by_yq.empty()) {
    // The file's, with the variables as the script leaves them, unless the script has read it.
    ShellInput of_file{out.variables, {}, ""};
    for (const auto& [name, value] : variables) of_file.variables[name] = value;
    Words all;
    for (const JsonValue& flags : yaml)
      for (std::string& word : yaml_words(flags, of_file, table, files.front().name))
        all.push_back(std::move(word));
    if (2 * count_flags(words, table) < count_flags(all, table)) {
      all.insert(all.end(), words.begin(), words.end());
      words = std::move(all);
    }
  }
  out.words = std::move(words);
  return out;
}

}  // namespace pleat::interop
