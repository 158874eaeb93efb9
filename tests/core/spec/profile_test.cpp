// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/profile.hpp"

#include <gtest/gtest.h>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// A value in (0, 1] with all its digits.
struct Digits {
  double state = 0.123456789;
  double next() { return state = 3.99 * state * (1 - state); }
};

Profile awkward_profile() {
  Digits digits;
  Profile p = datasheet_profile("here", 3, Runtime::pleat);
  p.name = "a \"name\"\n";
  p.created = "2026-11-21T10:00:00Z";
  for (EfficiencyCurve& curve : p.kernels) {
    curve = {.max_efficiency = digits.next(),
             .half_work = Flops(1e9 * digits.next()),
             .memory_efficiency = digits.next(),
             .fixed = Seconds(1e-5 * digits.next()),
             .source = SourceClass::fitted};
  }
  for (auto& row : p.collectives) {
    for (CollectiveCurve& curve : row) {
      curve = {.latency = Seconds(1e-5 * digits.next()),
               .latency_per_rank = Seconds(1e-7 * digits.next()),
               .efficiency = digits.next(),
               .source = SourceClass::measured};
    }
  }
  p.host_per_op = Seconds(1e-6 * digits.next());
  p.sharing_penalty = 1 + digits.next();
  p.relative_band = digits.next();
  return p;
}

TEST(Profile, RoundTripIsExact) {
  const Profile p = awkward_profile();
  EXPECT_EQ(read_profile(write_profile(p), "p.json"), p);
  for (Runtime runtime : {Runtime::pleat, Runtime::megatron}) {
    const Profile d = datasheet_profile("c", 2, runtime);
    EXPECT_EQ(read_profile(write_profile(d), "p.json"), d);
  }
}

TEST(Profile, DatasheetIsMarkedAsSuch) {
  const Profile p = datasheet_profile("gb300-nvl72", 0, Runtime::megatron);
  EXPECT_EQ(p.cluster, "gb300-nvl72");
  EXPECT_EQ(p.collectives.size(), 1U);
  EXPECT_GE(p.relative_band, 0.3);
  for (const EfficiencyCurve& curve : p.kernels) EXPECT_EQ(curve.source, SourceClass::datasheet);
}

TEST(Profile, MissingPartsAreAllNamed) {
  try {
    (void)read_profile(
        R"({"schema_version": 1, "name": "x", "cluster": "c", "runtime": "cuda", "provenance": "",
"kernels": {"gemm": {}}, "collectives": []})",
        "p.json");
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    for (const char* part :
         {"p.json:1:63: runtime: unknown value \"cuda\"", "kernels.gemm.max_efficiency: missing",
          "kernels.grouped_gemm: missing", "collectives: needs at least one tier",
          "host_per_op: missing", "sustained_clock: missing", "relative_band: missing"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " not in\n" << text;
    }
    EXPECT_EQ(text.find("grouped_gemm.max_efficiency"), std::string::npos) << text;  // said once
  }
}

}  // namespace
}  // namespace pleat
