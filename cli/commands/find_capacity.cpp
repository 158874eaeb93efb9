// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/find_capacity.hpp"

#include "cli/report/capacity_report.hpp"
#include "cli/report/html/capacity_page.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

void show(const CapacityOptions& o, const CapacityAnswer& answer,
          const std::vector<std::string>& assumptions) {
  const std::string assumed = assumed_text(assumptions);
  if (!o.html_file.empty()) write_page(o.html_file, capacity_page(answer, assumed));
  if (o.json) {
    print(capacity_json(answer, assumptions));
  } else if (o.csv) {
    print(capacity_csv(answer));
  } else {
    print(capacity_text(answer) + "\n" + assumed);
  }
}

}  // namespace

void capacity(const CapacityOptions& o) {
  check_outputs({o.html_file}, o.force);
  const CapacityQuestion question = read_capacity_request(o);
  catch_interrupts();
  const CapacityAnswer answer = find_capacity(question, o.threads);
  show(o, answer, question.assumed);
  if (interrupt_pending()) {
    flush_output();
    note("interrupted: the rest was not looked at; plans are the best so far");
    leave_interrupted();
  }
  if (!answer.choice.cheapest) {
    throw_config_error(ExitCode::nothing_fits, "", "", misses_text(answer));
  }
}

}  // namespace pleat::cli
