// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat serve
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/serve/server.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {
namespace {

struct ServeOptions {
  int port = 8642;
  bool json = false;
};

void serve(const ServeOptions& o) {
  catch_interrupts();
  WhatIfServer server(o.port);
  if (o.json) print(JsonValue::object().set("address", server.address()).dump(0) + "\n");
  else print("open " + server.address() + "\nCtrl-C ends it\n");
  flush_output();
  server.run([] { return !interrupt_pending(); });
  leave_interrupted();
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "serve", "A page for what-if questions: change a plan and see time and memory at once");
  const auto o = std::make_shared<ServeOptions>();
  command
      ->add_option("--port", o->port, "Port on 127.0.0.1, where it can be reached; 0: a free one")
      ->capture_default_str()
      ->check(in_range(0, 65'535));
  command->add_flag("--json", o->json, "Print the page's address as JSON");
  command->footer(
      "The address has a token: who does not have it gets no answers. Nothing is loaded from\n"
      "elsewhere. On a machine without a browser: ssh -L 8642:127.0.0.1:8642 HOST\n\n"
      "Examples:\n"
      "  pleat serve\n"
      "  pleat serve --port 0 --json");
  command->callback([&action, o] { action = [o] { serve(*o); }; });
}

}  // namespace pleat::cli
