// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat compare MEASURED PREDICTED
#include <CLI/CLI.hpp>
#include <memory>

#include "calibration/compare.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "console/output.hpp"
#include "core/json/text_file.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kMaxTrace = std::size_t{1} << 30;

struct Options {
  std::string measured, predicted;
  std::size_t rows = 20;
  bool json = false;
};

void run(const Options& o) {
  const auto read = [](const std::string& file) {
    return read_trace(read_text_file(file, kMaxTrace), file);
  };
  const TraceComparison joined = compare(read(o.measured), read(o.predicted));
  print(o.json ? comparison_json(joined).dump(2, JsonValue::ScalarArrays::line_each) + "\n"
               : print_comparison(joined, o.rows));
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "Join a measured and a predicted trace by operation: where the error is");
  const auto o = std::make_shared<Options>();
  command->add_option("MEASURED", o->measured, "Trace file written by `pleat train --trace`")
      ->required();
  command->add_option("PREDICTED", o->predicted, "Trace file written by `pleat predict --trace`")
      ->required();
  command->add_option("--rows", o->rows, "Operations to show")
      ->capture_default_str()
      ->check(in_range(1, 100'000));
  command->add_flag("--json", o->json, "Print JSON");
  command->footer("Examples:\n"
                  "  pleat compare measured.json predicted.json\n"
                  "  pleat compare measured.json predicted.json --rows 50 --json");
  command->callback([&action, o] { action = [o] { run(*o); }; });
}

}  // namespace pleat::cli
