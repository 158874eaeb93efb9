// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat model NAME
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/report/model_report.hpp"
#include "console/output.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::cli {
namespace {

struct ModelOptions {
  std::string model;
  std::int64_t seq_len = 4096;
  bool json = false;
};

void run_model(const ModelOptions& o) {
  const HfImport import = load_model(o.model);
  print(o.json ? model_json(import, o.seq_len) : model_text(import, o.seq_len));
}

}  // namespace

void add_model_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("model", "Parameters and FLOPs of a model");
  const auto o = std::make_shared<ModelOptions>();
  command->add_option("MODEL", o->model, "Name of a shipped model or a Hugging Face config.json")
      ->check(offers_configs(ConfigKind::model))
      ->required();
  command->add_option("-s,--seq-len", o->seq_len, "Tokens of a sequence, for the FLOPs")
      ->capture_default_str()
      ->check(in_range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_flag("--json", o->json, "Print JSON");
  command->footer("Examples:\n"
                  "  pleat model deepseek-v3\n"
                  "  pleat model mixtral-8x7b --seq-len 32768 --json\n"
                  "  pleat model ./config.json");
  command->callback([&action, o] { action = [o] { run_model(*o); }; });
}

}  // namespace pleat::cli
