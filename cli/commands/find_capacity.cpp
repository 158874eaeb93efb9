// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/find_capacity.hpp"

#include "cli/report/capacity_report.hpp"
#include "cli/report/html/capacity_page.hpp"
#include "cli/report/step_report.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

void show(const CapacityOptions& o, const CapacityAnswer& answer,
          const std::vector<std::string>& assumptions) {
  if (!o.html_file.empty())
    write_page(o.html_file, capacity_page(answer, o.model, assumed_text(assumptions)));
  if (o.json) {
    print(capacity_json(answer, assumptions));
  } else if (o.csv) {
    print(capacity_csv(answer));
  } else {
    const Terminal shown = terminal();
    print_report(capacity_text(answer, o.model, shown) + "\n" + assumed_lines(assumptions, shown));
  }
}

}  // namespace

void capacity(const CapacityOptions& o) {
  check_outputs({o.html_file}, o.force);
  CapacityQuestion question = read_capacity_request(o);
  question.what_if = !o.html_file.empty();
  catch_interrupts();
  const CapacityAnswer answer =
      find_capacity(question, o.threads, {[] { return !interrupt_pending(); }, progress},
                    shows_progress() ? ShowOffers([](const CapacityAnswer& so_far) {
                      progress_table(first_text(so_far, terminal()));
                    })
                                     : ShowOffers());
  progress_table("");
  show(o, answer, question.assumed);
  if (interrupt_pending()) {
    flush_output();
    note("interrupted: the rest was not looked at; plans are the best so far");
    leave_interrupted();
  }
  if (!answer.choice.cheapest) {
    std::string text = wrap_long_lines(misses_text(answer), terminal().columns);
    text.pop_back();  // the end of the last line
    throw_config_error(ExitCode::nothing_fits, "", "", text);
  }
}

}  // namespace pleat::cli
