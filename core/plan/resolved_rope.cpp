// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Scaled rotary positions in a plan file.
#include "core/plan/resolved_model.hpp"

namespace pleat {
namespace {

const std::vector<std::string> kRules{"plain", "linear", "llama3", "yarn", "unknown"};
constexpr DoubleRange kRopeFactor{0.0, 1e12, true};
constexpr DoubleRange kAny{0.0, 1e12};

}  // namespace

JsonValue write_rope_scaling(const RopeScaling& s) {
  JsonValue out = JsonValue::object();
  out.set("rule", kRules[static_cast<std::size_t>(s.rule)])
      .set("factor", s.factor)
      .set("original_positions", s.original_positions)
      .set("low_freq_factor", s.low_freq_factor)
      .set("high_freq_factor", s.high_freq_factor)
      .set("beta_fast", s.beta_fast)
      .set("beta_slow", s.beta_slow)
      .set("truncate", s.truncate)
      .set("magnitude", s.magnitude)
      .set("scores", s.scores);
  return out;
}

RopeScaling read_rope_scaling(ObjectReader r) {
  RopeScaling s;
  s.rule = static_cast<RopeRule>(r.choice("rule", kRules));
  s.factor = r.number("factor", kRopeFactor);
  s.original_positions = r.number("original_positions", kAny);
  s.low_freq_factor = r.number("low_freq_factor", kRopeFactor);
  s.high_freq_factor = r.number("high_freq_factor", kRopeFactor);
  s.beta_fast = r.number("beta_fast", kRopeFactor);
  s.beta_slow = r.number("beta_slow", kRopeFactor);
  s.truncate = r.boolean("truncate");
  s.magnitude = r.number("magnitude", kRopeFactor);
  s.scores = r.number("scores", kRopeFactor);
  if ((s.rule == RopeRule::llama3 || s.rule == RopeRule::yarn) && s.original_positions <= 0) {
    r.problem("original_positions", "must be above 0 for this rule");
  }
  r.finish();
  return s;
}

}  // namespace pleat
