// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat watch
#include "application/exchange/watch.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "application/request/global_batch.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/report/html/watch_page.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

struct WatchCommand {
  WatchOptions watch;
  std::string tokens, html;
  bool follow = false, json = false, check = false;
  double interval = 10;
};

void print_report(const WatchCommand& c, const WatchReport& r) {
  print(c.json ? watch_json(r).dump(c.follow ? 0 : 2) + "\n"
               : watch_text(r, c.watch.log, terminal().columns));
  flush_output();
  if (c.html.empty()) return;
  static const ChartLibrary library = load_chart_library();
  static bool said = false;
  if (!said && !library.problem.empty()) note("note: " + library.problem);
  said = true;
  // In one move, so that a browser that looks meanwhile sees a whole page.
  write_file(c.html, watch_page(r, c.watch.log).finish(library));
}

// A report whenever there is a new step, until the run is over. A log that is not there yet, or has
// no step yet, is waited for.
WatchReport follow(const WatchCommand& c) {
  catch_interrupts();
  WatchReport latest;
  for (bool first = true;; first = false) {
    bool is_new = false;
    try {
      WatchReport r = watch_run(c.watch);
      is_new = first || r.step != latest.step;
      latest = std::move(r);
    } catch (const ConfigError& e) {
      const bool is_early =
          e.exit_code() == ExitCode::bad_file || e.exit_code() == ExitCode::device_or_io;
      if (!is_early || e.diagnostics().front().where != c.watch.log) throw;
      if (first) note("waiting for a step in " + c.watch.log);
    }
    if (is_new) {
      if (!first && !c.json) print("\n");
      print_report(c, latest);
    }
    if (latest.is_over()) return latest;
    if (!sleep_unless_interrupted(c.interval)) leave_interrupted();
  }
}

void run_watch(WatchCommand c) {
  c.watch.tokens = read_tokens(c.tokens);
  if (c.watch.tokens && c.watch.steps > 0) {
    throw_config_error(ExitCode::bad_request, "--tokens", "", "contradicts --steps", "one of both");
  }
  WatchReport r;
  if (c.follow) {
    r = follow(c);
  } else {
    r = watch_run(c.watch);
    print_report(c, r);
  }
  if (c.check && r.verdict() == WatchReport::Verdict::slower)
    throw ExitRequest(static_cast<int>(ExitCode::verification),
                      "slower than its prediction's band");
}

}  // namespace

void add_watch_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("watch", "A training run beside its prediction, from its log");
  const auto c = std::make_shared<WatchCommand>();
  WatchOptions& w = c->watch;
  command
      ->add_option("LOG", w.log,
                   "Log of Megatron-LM, output of `pleat train`, or its --log-json file")
      ->required();
  command->add_option("-p,--plan", w.plan, "The plan file that the run was started with");
  command->add_option("--profile", w.profile, "Profile of the prediction (default: as `predict`)")
      ->check(offers_configs(ConfigKind::profile));
  command->add_option("--steps", w.steps, "Steps of the whole run (default: as the log says)")
      ->check(in_range(1, 1'000'000'000));
  command->add_option("--tokens", c->tokens, "Tokens of the whole run, 15T, instead of --steps");
  command->add_option("--warmup", w.warmup, "First steps that are left out")
      ->capture_default_str()
      ->check(in_range(0, 1'000'000));
  command->add_option("--window", w.window, "Latest steps that \"now\" is the median of")
      ->capture_default_str()
      ->check(in_range(1, 1'000'000));
  command->add_flag("-f,--follow", c->follow, "Go on until the run is over, or Ctrl-C");
  command->add_option("--interval", c->interval, "With --follow: seconds between looks")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86'400.0));
  command->add_flag("--check", c->check, "End with 6 if the run is slower than the band");
  command->add_option("--html", c->html,
                      "Write a page with charts, too; with --follow it is replaced at each report");
  command->add_flag("--json", c->json, "Print JSON; with --follow a line for each report");
  command->footer(
      "Examples:\n"
      "  pleat watch train.log --plan plan.json\n"
      "  pleat watch pleat-1234.out --plan plan.json --tokens 15T --follow\n"
      "  pleat watch train.log --plan plan.json --follow --html run.html\n"
      "  pleat watch log.jsonl --plan plan.json --check || echo slower than predicted");
  command->callback([&action, c] { action = [c] { run_watch(*c); }; });
}

}  // namespace pleat::cli
