// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What `pleat plan` answers, as a user sees it: the binary is run, and the plan file that it writes
// is read again.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"
#include "core/spec/catalog.hpp"
#include "planner/problem.hpp"
#include "simulator/estimate.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::test {

using Words = std::vector<std::string>;

// As it is typed in a shell.
inline std::string command(const char* name, const Words& words) {
  std::string text = fmt::format("pleat {}", name);
  for (const std::string& word : words) {
    const bool plain = word.find_first_of("|()* &;") == std::string::npos;
    text += plain ? " " + word : " '" + word + "'";
  }
  return text;
}

inline double number_in(const JsonValue& object, const char* key) {
  const JsonValue* value = object.find(key);
  const double* number = value == nullptr ? nullptr : value->as_double();
  return number == nullptr ? 0 : *number;
}

struct Answer {
  PlanDocument document;  // of the best plan
  Problem problem;        // what it is for, as the binary reads it from names
  double seconds = 0;     // of its step
};

inline Problem problem_of(const PlanDocument& d) {
  Problem p{d.model, load_cluster(d.cluster), d.workload, {}};
  const auto found = find_usual_profile(d.cluster, d.runtime);
  p.profile =
      found ? found->profile : datasheet_profile(p.cluster, d.runtime);
  return p;
}

// Empty where there is no plan, or where the search was not proven with so many estimates: a limit
// of time would make the answer depend on the machine.
inline std::optional<Answer> ask(const Words& request, int estimates) {
  using cli_test::operator+;
  const std::string file = cli_test::test_folder() + "/best.json";
  std::filesystem::remove(file);
  const cli_test::Said said = cli_test::run_pleat(
      Words{"plan"} + request +
      Words{"--json", "--out", file, "--max-evaluations", std::to_string(estimates)});
  if (said.exit_code != 0 || !std::filesystem::exists(file)) return std::nullopt;
  const JsonValue json = parse_json(said.out, "stdout");
  const JsonValue* certificate = json.find("certificate");
  const JsonValue* optimal = certificate == nullptr ? nullptr : certificate->find("optimal");
  if (optimal == nullptr || optimal->as_bool() == nullptr || !*optimal->as_bool())
    return std::nullopt;
  PlanDocument document = read_plan_document(cli_test::read_text(file), file);
  Problem problem = problem_of(document);
  const double step = document.predicted ? document.predicted->step_seconds : 0;
  return Answer{std::move(document), std::move(problem), step};
}

// Of `pleat predict`; 0 where it refuses.
inline double predicted_seconds(const Words& words) {
  using cli_test::operator+;
  const cli_test::Said said = cli_test::run_pleat(Words{"predict"} + words + Words{"--json"});
  return said.exit_code == 0 ? number_in(parse_json(said.out, "stdout"), "step_s") : 0;
}

// A search keeps a twentieth of the GPU's memory free.
inline bool fits(const Problem& on, const StepEstimate& e) {
  const double host = on.cluster.host_memory.base();
  return static_cast<double>(e.peak_bytes()) <= 0.95 * on.cluster.gpu.memory.base() &&
         (host <= 0 || static_cast<double>(e.host_bytes) <= host);
}

}  // namespace pleat::test
