// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat._core: the application's questions, asked with the arguments of Python, and its answers as
// the documents that `--json` prints. The module `pleat` is the typed layer above it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "application/capacity/capacity.hpp"
#include "application/exchange/exported_plan.hpp"
#include "application/plan/search_plans.hpp"
#include "cli/report/capacity_report.hpp"
#include "cli/report/catalog_report.hpp"
#include "cli/report/found_plans_json.hpp"
#include "cli/report/model_report.hpp"
#include "cli/report/validation/validation_report.hpp"
#include "console/wrap.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "python/binding/errors.hpp"
#include "python/binding/estimates.hpp"
#include "python/binding/interruptible.hpp"
#include "python/binding/questions.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

constexpr std::size_t kColumns = 100;  // of messages, as where there is no terminal

// The report, the plan file, and why the runtime does not run the plan.
std::tuple<std::string, std::string, std::string> predict(const nb::dict& arguments) {
  const PredictQuestion question = predict_question(arguments);
  return interruptible([&](const WorkHooks&) {
    const PredictedPlan p = predict_plan(question);
    return std::tuple(cli::predicted_plan_json(p).dump() + "\n",
                      write_plan_document(document_of(p)), p.refusal);
  });
}

// The report, and the plan files of the listed plans.
std::tuple<std::string, std::vector<std::string>> plan(const nb::dict& arguments) {
  const FindPlanOptions question = plan_question(arguments);
  return interruptible([&](const WorkHooks& work) {
    SearchHooks hooks;
    hooks.keep_on = work.keep_on;
    FoundPlans found = search_plans(question, hooks);
    SearchResult& result = found.answer.result;
    if (result.best.empty() && !result.optimal) throw_none_found(result);
    if (result.best.empty()) {
      throw_config_error(ExitCode::nothing_fits, "", "memory",
                         nothing_fits_text(found, what_would_fit(found), work.goes_on(), kColumns));
    }
    keep_first(static_cast<std::size_t>(question.search.top), result);
    std::vector<std::string> files;
    for (const Candidate& c : result.best) {
      files.push_back(write_plan_document(document_of(found, c)));
    }
    return std::tuple(cli::found_plans_json(found).dump() + "\n", files);
  });
}

// The report, and what misses the goals if everything does.
std::tuple<std::string, std::string> capacity(const nb::dict& arguments) {
  const CapacityOptions options = capacity_question(arguments);
  return interruptible([&](const WorkHooks& hooks) {
    const CapacityQuestion question = read_capacity_request(options);
    const CapacityAnswer answer = find_capacity(question, options.threads, hooks);
    std::string misses;
    if (!answer.choice.cheapest && answer.complete) {
      misses = wrap_long_lines(cli::misses_text(answer), kColumns);
      misses.pop_back();  // the end of the last line
    }
    return std::tuple(capacity_json(answer, question.assumed), misses);
  });
}

std::string validate(const nb::dict& arguments) {
  const ValidateQuestion question = validate_question(arguments);
  return interruptible([&](const WorkHooks&) {
    RunCatalog catalog = run_catalog(question);
    const std::vector<ComparedRun> rows = compare_published_runs(question, catalog);
    return cli::validation_json(rows, summarise_published_runs(question, rows, catalog));
  });
}

// The report of `pleat export --json`, and the configuration.
std::tuple<std::string, std::string> export_plan(const std::string& target,
                                                 const std::string& plan_text,
                                                 const std::string& file) {
  const ExportedPlan p = export_document(target, read_plan_document(plan_text, file), file);
  return {exported_json(p), p.text};
}

std::string plan_file(const std::string& file) {
  const std::string text = read_text_file(file);
  static_cast<void>(read_plan_document(text, file));
  return text;
}

std::string model(const std::string& name, std::int64_t seq_len) {
  return cli::model_json(load_model(name), seq_len);
}

std::tuple<std::string, std::string> cluster(const std::string& name) {
  return {load_cluster(name).name, read_text_file(config_path(ConfigKind::cluster, name))};
}

std::tuple<std::string, std::string> profile(const std::string& name) {
  return {load_profile(name).name, read_text_file(config_path(ConfigKind::profile, name))};
}

// A column that Python owns.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

nb::dict columns_of(Estimates e) {
  nb::dict columns;
  columns["step_s"] = array_of(std::move(e.step));
  columns["low_s"] = array_of(std::move(e.low));
  columns["high_s"] = array_of(std::move(e.high));
  columns["tokens_per_second_per_gpu"] = array_of(std::move(e.tokens_per_second_per_gpu));
  columns["mfu"] = array_of(std::move(e.mfu));
  columns["mfu_of_precision"] = array_of(std::move(e.mfu_of_precision));
  columns["peak_bytes"] = array_of(std::move(e.peak_bytes));
  columns["fits"] = array_of(std::move(e.fits));
  return columns;
}

}  // namespace
}  // namespace pleat::python

NB_MODULE(_core, m) {
  using namespace pleat::python;
  namespace nb = nanobind;
  translate_errors();
  m.attr("version") = PLEAT_VERSION;
  m.def("predict", &predict);
  m.def("plan", &plan);
  m.def("capacity", &capacity);
  m.def("validate", &validate);
  m.def("export", &export_plan);
  m.def("plan_file", &plan_file);
  m.def("model", &model);
  m.def("cluster", &cluster);
  m.def("profile", &profile);
  m.def("models", &pleat::cli::models_json);
  m.def("clusters", &pleat::cli::clusters_json);
  m.def("plan_arguments", &plan_arguments);
  m.def("search_arguments", &search_arguments);
  nb::class_<PlanEstimator>(m, "PlanEstimator")
      .def(nb::init<const nb::dict&>())
      .def("estimate",
           [](const PlanEstimator& self, const nb::sequence& plans) {
             Estimates e = self.estimate(plans);
             std::vector<std::pair<std::int64_t, std::string>> problems = std::move(e.problems);
             return std::pair(columns_of(std::move(e)), std::move(problems));
           })
      .def_prop_ro("assumed", [](const PlanEstimator& self) { return self.assumed(); });
}
