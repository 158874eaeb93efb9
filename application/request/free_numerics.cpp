// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/free_numerics.hpp"

#include <algorithm>

#include "application/request/given_numerics.hpp"
#include "application/request/gpu_formats.hpp"

namespace pleat {
namespace {

std::vector<Precision> free_precisions(const Numerics& plain, const ClusterSpec& cluster) {
  std::vector<Precision> list{plain.precision};
  for (const Precision p : supported_precisions(cluster)) {
    if (std::ranges::find(list, p) == list.end()) list.push_back(p);
  }
  return list;
}

template <class Field>
auto all_values(const Field& field) {
  using Value = typename Field::Value;
  std::vector<Value> values;
  if constexpr (std::is_same_v<Value, bool>) {
    values = {false, true};
  } else if constexpr (requires { field.domain.offered; }) {
    if constexpr (!std::is_same_v<Value, DType>) values.emplace_back();  // absent
    for (std::size_t k = 0; k < field.domain.offered; ++k) {
      values.emplace_back(field.domain.types[k]);
    }
  }
  return values;
}

std::vector<Precision> precisions_of(const std::vector<Numerics>& plain) {
  std::vector<Precision> list;
  for (const Numerics& n : plain) {
    if (std::ranges::find(list, n.precision) == list.end()) list.push_back(n.precision);
  }
  return list;
}

}  // namespace

bool is_possible(const NumericsValue& value, const Numerics& plain, const Target& target,
                 const ToldRows& told) {
  for (const Precision p : free_precisions(plain, target.cluster)) {
    for (const bool narrow_weights : {true, false}) {
      Numerics n = plain;
      n.precision = p;
      n.fp8_params = narrow_weights;
      put(value, n);
      if (!refused_numerics(target.runtime, target, n, told)) return true;
    }
  }
  return false;
}

std::vector<NumericsValue> free_values(const NumericsWords& given,
                                       const std::vector<Numerics>& plain, const Target& target,
                                       const ToldRows& told, std::vector<std::string>& not_chosen) {
  std::vector<NumericsValue> free;
  for_each_numerics_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    const bool is_given = !given.by_row[i].empty();
    std::vector<Value> values;
    if constexpr (std::is_same_v<Value, OptimizerKind>) {
      if (!is_given) {
        not_chosen.emplace_back(
            "the optimizer is no number format: it stays what it is (--optimizer)");
      }
    }
    if constexpr (std::is_same_v<Value, Precision>) {
      values = is_given ? precisions_of(plain) : free_precisions(plain.front(), target.cluster);
    } else {
      values = is_given ? values_of<i>(given) : all_values(field);
    }
    if (values.size() < 2) return;
    for (const Value& value : values) {
      NumericsValue one{i, {}};
      field.in_numerics(one.holder) = value;
      if (is_possible(one, plain.front(), target, told)) free.push_back(one);
    }
  });
  return free;
}

}  // namespace pleat
