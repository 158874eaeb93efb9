// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The section "learned" of a profile's file.
#include "core/spec/profile_sections.hpp"

namespace pleat {

namespace {

constexpr DoubleRange kTimeFactor{0.01, 100.0};
constexpr DoubleRange kLogError{0.0, 10.0};
constexpr DoubleRange kVariance{-100.0, 100.0};
constexpr DoubleRange kRunSeconds{0.0, 1e9, true};

LearnedConstant read_constant(ObjectReader reader) {
  LearnedConstant c;
  c.time_factor = reader.number("time_factor", kTimeFactor);
  c.prior_error = reader.number("prior_error", kLogError);
  c.standard_error = reader.number("standard_error", kLogError);
  reader.each_optional_object("fields", [&](ObjectReader field) {
    c.fields.push_back({field.text("name"), field.text("before"), field.text("after")});
    field.finish();
  });
  reader.finish();
  return c;
}

LearnedRun read_run(ObjectReader reader) {
  LearnedRun run;
  run.file = reader.text("file");
  run.name = reader.text("name");
  run.what = reader.text("what");
  run.measured = reader.number("measured_s", kRunSeconds);
  run.before = reader.number("before_s", kRunSeconds);
  run.after = reader.number("after_s", kRunSeconds);
  run.weight = reader.number("weight", {0.0, 1.0});
  run.outlier = reader.boolean("outlier");
  reader.finish();
  return run;
}

// Symmetric, and no constant surer than sure.
bool is_covariance(const LearnedMatrix& m) {
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    if (m[i][i] < 0) return false;
    for (std::size_t j = 0; j < kLearnedKinds; ++j) {
      if (m[i][j] != m[j][i] || m[i][j] * m[i][j] > m[i][i] * m[j][j] * (1 + 1e-9)) return false;
    }
  }
  return true;
}

LearnedMatrix read_covariance(ObjectReader& reader) {
  LearnedMatrix m{};
  const char* const key = "covariance";
  const JsonValue::Array& rows = reader.array(key);
  if (rows.empty()) return m;  // said already
  const auto number = [](const JsonValue& v) -> double {
    if (const double* d = v.as_double()) return *d;
    const std::int64_t* n = v.as_integer();
    return n != nullptr ? static_cast<double>(*n) : kVariance.max + 1;
  };
  bool shaped = rows.size() == kLearnedKinds;
  for (std::size_t i = 0; shaped && i < kLearnedKinds; ++i) {
    const JsonValue::Array& row = rows[i].items();
    shaped = row.size() == kLearnedKinds;
    for (std::size_t j = 0; shaped && j < kLearnedKinds; ++j) {
      m[i][j] = number(row[j]);
      shaped = m[i][j] >= kVariance.min && m[i][j] <= kVariance.max;
    }
  }
  if (shaped && is_covariance(m)) return m;
  reader.problem(key,
                 "must be 4 rows of 4 numbers, symmetric, each squared at most the product of "
                 "its two variances",
                 "in the order compute, memory, exchange, host");
  return {};
}

}  // namespace

Learned read_learned(ObjectReader reader) {
  Learned learned;
  learned.from = reader.text("from");
  learned.noise = reader.number("noise", kLogError);
  ObjectReader constants = reader.object("constants");
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    learned.constants[i] = read_constant(constants.object(kLearnedNames[i]));
  }
  constants.finish();
  learned.covariance = read_covariance(reader);
  reader.each_object("runs", [&](ObjectReader run) { learned.runs.push_back(read_run(run)); });
  reader.finish();
  return learned;
}

JsonValue write_learned(const Learned& learned) {
  JsonValue constants = JsonValue::object(), covariance = JsonValue::array(),
            runs = JsonValue::array();
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    const LearnedConstant& c = learned.constants[i];
    JsonValue fields = JsonValue::array(), row = JsonValue::array();
    for (const LearnedField& f : c.fields) {
      fields.push_back(
          JsonValue::object().set("name", f.name).set("before", f.before).set("after", f.after));
    }
    for (const double v : learned.covariance[i]) row.push_back(v);
    covariance.push_back(std::move(row));
    constants.set(kLearnedNames[i], JsonValue::object()
                                        .set("time_factor", c.time_factor)
                                        .set("prior_error", c.prior_error)
                                        .set("standard_error", c.standard_error)
                                        .set("fields", std::move(fields)));
  }
  for (const LearnedRun& r : learned.runs) {
    runs.push_back(JsonValue::object()
                       .set("file", r.file)
                       .set("name", r.name)
                       .set("what", r.what)
                       .set("measured_s", r.measured)
                       .set("before_s", r.before)
                       .set("after_s", r.after)
                       .set("weight", r.weight)
                       .set("outlier", r.outlier));
  }
  return JsonValue::object()
      .set("from", learned.from)
      .set("noise", learned.noise)
      .set("constants", std::move(constants))
      .set("covariance", std::move(covariance))
      .set("runs", std::move(runs));
}

}  // namespace pleat
