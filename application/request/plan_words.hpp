// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What names a model, a cluster, a workload and a plan, kept as it was given: by options of the
// command line, or by the Python module. application/request/request.hpp makes checked specs of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "application/request/global_batch.hpp"
#include "application/request/routing_words.hpp"
#include "core/plan/plan_table.hpp"

namespace pleat {

// What is to be run, and where.
struct TargetOptions {
  std::string model, cluster, profile, runtime;
  std::optional<int> gpus;
  std::optional<std::int64_t> seq_len;
  GlobalBatch global_batch;
  std::optional<double> capacity_factor, straggler_slowdown;
  std::vector<std::int64_t> documents;
  RoutingOptions routing;
  bool pad_to_capacity = false, unbound_ranks = false;
  bool accept_mismatch = false;
};

// How the value of a field is kept until it is read: numbers as such, of a switch whether it was
// given, all others as words.
template <class Value>
struct GivenAs { using Type = std::optional<std::string>; };
template <>
struct GivenAs<int> { using Type = std::optional<int>; };
template <>
struct GivenAs<double> { using Type = std::optional<double>; };
template <>
struct GivenAs<bool> { using Type = bool; };

template <class... Fields>
using GivenFields =
    std::tuple<typename GivenAs<typename std::remove_cvref_t<Fields>::Value>::Type...>;
template <class... Fields>
GivenFields<Fields...> given_fields(const std::tuple<Fields...>&);

// How: one entry a row of the table of a plan's fields; absent is the runtime's default.
struct ShapeOptions {
  decltype(given_fields(kPlanFields)) given{};
  std::optional<std::string> recompute_stages, offload_stages;

  // of<&Plan::optimizer, &OptimizerPlan::kind>()
  template <auto... Members>
  [[nodiscard]] auto& of() { return std::get<kPlanRow<Members...>>(given); }
  template <auto... Members>
  [[nodiscard]] const auto& of() const { return std::get<kPlanRow<Members...>>(given); }
};

struct PlanOptions {
  TargetOptions target;
  ShapeOptions shape;
  std::string plan_file;                 // empty: the plan is `shape`
  std::optional<std::string> plan_text;  // what stands in that file; absent: it is read
};

// The limits of numbers, wherever they are given.
inline constexpr int kMaxDegree = 16'777'216;
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

// One field of a plan, wherever its value is kept: numbers, shares, words, switches.
struct ShapeOption {
  std::string name, help;  // "tp"
  std::variant<std::optional<int>*, std::optional<double>*, std::optional<std::string>*, bool*>
      value;
  double most = 0;                      // of a number or a share
  std::vector<std::string> words = {};  // that completion offers
};

// All of them, in the order of the help.
[[nodiscard]] std::vector<ShapeOption> shape_options(ShapeOptions&);

// "tp=1,pp=2,vpp=8,ep=32" as the flags of the same names would give it. ConfigError (bad_request)
// names every wrong part; `flag` is where it was typed.
[[nodiscard]] ShapeOptions parse_shape(const std::string& text, const std::string& flag);

// The first plan-shape flag that was given, for messages; empty when none was.
[[nodiscard]] std::string first_shape_flag(const ShapeOptions&);

}  // namespace pleat
