// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/validate_runs.hpp"

#include <fmt/format.h>

#include <chrono>

#include "application/learn/judge_learning.hpp"
#include "cli/report/validation/validation_report.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"

namespace pleat::cli {

void validate(const ValidateOptions& o) {
  check_outputs({o.html_file, o.out_file}, o.force);
  const auto start = std::chrono::steady_clock::now();
  const ValidateQuestion& q = o.question;
  RunCatalog catalog = run_catalog(q);
  const std::vector<ComparedRun> rows = compare_published_runs(q, catalog);
  if (o.learn > 0) {
    const JudgeOptions judge{.given = o.learn, .draws = o.draws, .threads = q.threads};
    const Judgement judgement = judge_learning(rows, catalog, judge);
    print(o.json ? judgement_json(judgement).dump() + "\n" : judgement_text(judgement, judge));
    return;
  }
  const Summary s = summarise_published_runs(q, rows, catalog);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  note(fmt::format("{} rows in {:.2f} s", rows.size(), took.count()));
  if (!o.html_file.empty()) write_page(o.html_file, validation_page(rows, s));
  if (!o.out_file.empty()) {
    write_and_say(o.out_file, validation_markdown(rows, s));
  }
  print(o.json ? validation_json(rows, s) : validation_text(rows, s, terminal()));
}

}  // namespace pleat::cli
