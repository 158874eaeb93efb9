// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "python/binding/estimates.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "application/request/request.hpp"
#include "core/diagnostics.hpp"
#include "python/binding/questions.hpp"

namespace pleat::python {
namespace {

namespace nb = nanobind;

constexpr std::size_t kAtOnce = 512;  // plans between looks at signals

Target target_of(const nb::dict& values) {
  Given given(values, "predict");
  TargetOptions o;
  take_target(given, o);
  given.finish();
  return resolve_target(o);
}

// Reads the words of many plans; the options are looked up by name once.
class ShapeReader {
 public:
  ShapeReader() {
    for (const ShapeOption& o : shape_options(shape_)) by_name_.emplace(argument_name(o.name), o);
  }

  ShapeOptions read(const nb::dict& plan) {
    shape_ = {};
    for (const auto& [key, value] : plan) {
      const auto found = by_name_.find(nb::cast<std::string>(key));
      if (found == by_name_.end() || !put(found->second, value)) return with_checks(plan);
    }
    return shape_;
  }

 private:
  // The quick way for what is most often given; false: all else, and what is wrong.
  static bool put(const ShapeOption& o, nb::handle value) {
    if (auto* const* number = std::get_if<std::optional<int>*>(&o.value)) {
      if (!PyLong_CheckExact(value.ptr())) return false;
      const long given = PyLong_AsLong(value.ptr());
      if (given < 1 || static_cast<double>(given) > o.most) {
        PyErr_Clear();
        return false;
      }
      **number = static_cast<int>(given);
      return true;
    }
    if (auto* const* word = std::get_if<std::optional<std::string>*>(&o.value)) {
      if (!PyUnicode_Check(value.ptr())) return false;
      **word = nb::cast<std::string>(value);
      return true;
    }
    if (auto* const* on = std::get_if<bool*>(&o.value)) {
      if (!PyBool_Check(value.ptr())) return false;
      **on = value.is(Py_True);
      return true;
    }
    return false;
  }

  static ShapeOptions with_checks(const nb::dict& plan) {
    Given given(plan, "predict");
    ShapeOptions shape;
    take_shape(given, shape);
    given.finish();
    return shape;
  }

  ShapeOptions shape_;
  std::unordered_map<std::string, ShapeOption> by_name_;  // point into shape_
};

// What was read of a plan, or why it could not be.
struct ReadPlan {
  ShapeOptions shape;
  std::string problem;
};

std::vector<ReadPlan> read_plans(ShapeReader& reader, const nb::sequence& plans, std::size_t begin,
                                 std::size_t end) {
  std::vector<ReadPlan> list(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const nb::object plan = plans[i];
    try {
      list[i - begin].shape = reader.read(nb::cast<nb::dict>(plan));
    } catch (const ConfigError& e) {
      list[i - begin].problem = e.what();
    }
  }
  return list;
}

void resize(Estimates& all, std::size_t plans) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double>* column :
       {&all.step, &all.low, &all.high, &all.tokens_per_second_per_gpu, &all.mfu,
        &all.mfu_of_precision}) {
    column->assign(plans, unknown);
  }
  all.peak_bytes.assign(plans, 0);
  all.fits.assign(plans, 0);
}

void put_estimate(const StepEstimate& e, std::size_t i, Estimates& all) {
  all.step[i] = e.step.base();
  all.low[i] = e.low.base();
  all.high[i] = e.high.base();
  all.tokens_per_second_per_gpu[i] = e.tokens_per_second_per_gpu;
  all.mfu[i] = e.mfu;
  all.mfu_of_precision[i] = e.mfu_of_precision;
  all.peak_bytes[i] = e.peak_bytes();
  all.fits[i] = e.fits ? 1 : 0;
}

}  // namespace

PlanEstimator::PlanEstimator(const nb::dict& target)
    : target_(target_of(target)),
      estimator_(target_.model, target_.workload, target_.cluster, target_.profile,
                 target_.runtime) {}

Estimates PlanEstimator::estimate(const nb::sequence& plans) const {
  Estimates all;
  const std::size_t count = nb::len(plans);
  resize(all, count);
  ShapeReader reader;
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, count);
    const std::vector<ReadPlan> read = read_plans(reader, plans, begin, end);
    {
      const nb::gil_scoped_release without_lock;
      for (std::size_t i = begin; i < end; ++i) {
        const ReadPlan& plan = read[i - begin];
        std::string problem = plan.problem;
        try {
          std::vector<std::string> assumed;
          if (problem.empty()) {
            put_estimate(estimator_(resolve_shape(plan.shape, target_, "", assumed)), i, all);
          }
        } catch (const ConfigError& e) {
          problem = e.what();
        }
        if (!problem.empty()) all.problems.emplace_back(static_cast<std::int64_t>(i), problem);
      }
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return all;
}

}  // namespace pleat::python
