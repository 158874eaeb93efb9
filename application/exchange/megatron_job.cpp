// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/megatron_job.hpp"

#include <fmt/format.h>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "interop/judge_flags.hpp"
#include "interop/shell_script.hpp"

namespace pleat {
namespace {

std::map<std::string, std::string> set_variables(const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw_config_error(ExitCode::bad_request, "--set", "", fmt::format("'{}' sets nothing", word),
                         "NAME=VALUE, for example TP=4");
    }
    out[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return out;
}

}  // namespace

MegatronJob read_megatron_job(const JobFiles& o) {
  std::vector<interop::NamedText> texts;
  for (const std::string& file : o.files) texts.push_back({file, read_text_file(file)});
  return read_megatron_job(o, texts);
}

MegatronJob read_megatron_job(const JobFiles& o, const std::vector<interop::NamedText>& texts) {
  const auto variables = set_variables(o.set);
  const interop::FlagTable table = interop::load_flag_table();
  MegatronJob job;
  job.command = interop::find_command(texts, variables, o.command, table);
  const interop::ReadArguments read = interop::read_arguments(job.command.words, table);
  const std::string& where = o.files.front();
  if (read.values.empty()) {
    throw_config_error(ExitCode::bad_file, where, "", "has no argument of Megatron-LM",
                       "a script that starts pretrain_gpt.py, or a list of its flags");
  }
  interop::ImportChoices choices;
  choices.gpus = o.gpus > 0 ? o.gpus : job.command.gpus;
  choices.vocab = o.vocab;
  if (!o.model.empty()) choices.model = load_model(o.model).model;
  // Values that nobody can have are left out here, and are problems below if they are asked for.
  interop::Arguments values = read.values;
  interop::ReadArguments judged = read;
  for (const auto& [member, why] : read.bad) {
    // Of a tokenizer the name is enough, also one that other versions have; of its files that
    // there are some.
    const bool file = member == "tokenizer_model" || member == "tokenizer_type" ||
                      member == "vocab_file" || member == "merge_file";
    if (!file) {
      values.erase(member);
      continue;
    }
    const std::string known = interop::known_part(read.values.at(member).front());
    values[member] = {known.empty() ? "unknown" : known};
    judged.bad.erase(member);
  }
  const interop::UnreadTable effects = interop::load_unread(interop::kUnreadMegatronFlags);
  Diagnostics problems;
  const auto judge = [&](const std::set<std::string>& asked) {
    job.unpriced = judge_unread(judged, asked, table, effects, where, problems);
  };
  try {
    job.run = interop::import_arguments(values, choices, where);
  } catch (const ConfigError& e) {
    // What is missing may be what a variable was to say: that is the better message.
    std::set<std::string> asked;
    for (const auto& [member, why] : judged.bad)
      if (!effects.contains(judged.spelled.at(member))) asked.insert(member);
    judge(asked);
    for (const Diagnostic& d : e.diagnostics())
      if (!judged.bad.contains(d.path)) problems.add(d);
    problems.throw_if_errors();
  }
  judge(job.run.asked);
  problems.throw_if_errors();
  if (job.command.commands > 1 && o.command == 0) {
    job.run.assumed.push_back(
        fmt::format("the last of {} commands of training; --command N is the "
                    "N-th",
                    job.command.commands));
  }
  return job;
}

}  // namespace pleat
