// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/hf_parts.hpp"

#include <fmt/format.h>

namespace pleat {
namespace {

constexpr IntRange kRopeRange{1, 65'536};
constexpr DoubleRange kPositive{0, 1e12, true};

// Part of a head's columns may rotate: rotary_dim, or partial_rotary_factor of them.
void read_rotary_dim(HfFields& fields, AttentionSpec& a) {
  if (a.kind != AttentionKind::gqa) return;
  const auto columns = fields.optional_integer({"rotary_dim"}, kRopeRange);
  const auto part = fields.reader().optional_number("partial_rotary_factor", {0, 1});
  if (columns) {
    a.rotary_dim = *columns;
  } else if (part && *part < 1) {  // in pairs: 0.334 of 192 columns is 64
    a.rotary_dim = 2 * static_cast<std::int64_t>(*part * static_cast<double>(a.head_dim) / 2);
  }
  if (a.rotary_dim == a.head_dim) a.rotary_dim = 0;
}

void read_yarn(ObjectReader& r, AttentionSpec& a) {
  RopeScaling& s = a.rope_scaling;
  s.beta_fast = r.optional_number("beta_fast", kPositive).value_or(s.beta_fast);
  s.beta_slow = r.optional_number("beta_slow", kPositive).value_or(s.beta_slow);
  s.truncate = r.optional_boolean("truncate").value_or(true);
  const double m = r.optional_number("mscale", {0, 1e6}).value_or(0);
  const double all = r.optional_number("mscale_all_dim", {0, 1e6}).value_or(0);
  s.magnitude = m > 0 && all > 0 ? yarn_magnitude(s.factor, m) / yarn_magnitude(s.factor, all)
                                 : yarn_magnitude(s.factor, 1);
  s.magnitude = r.optional_number("attention_factor", kPositive).value_or(s.magnitude);
  if (a.kind == AttentionKind::mla && all > 0) {
    s.scores = yarn_magnitude(s.factor, all) * yarn_magnitude(s.factor, all);
  }
}

// The object may be rope_scaling or rope_parameters; `longest` is max_position_embeddings.
void read_scaling(HfFields& fields, ObjectReader& r, double longest, AttentionSpec& a) {
  const auto newer = r.optional_text("rope_type"), older = r.optional_text("type");
  const std::string rule = newer ? *newer : older.value_or("default");
  RopeScaling& s = a.rope_scaling;
  s = {};
  if (rule == "default") return;
  const auto factor = r.optional_number("factor", kPositive);
  s.original_positions =
      r.optional_number("original_max_position_embeddings", kPositive).value_or(longest);
  s.factor = factor ? *factor : s.original_positions > 0 ? longest / s.original_positions : 1;
  if (rule == "linear") {
    s.rule = RopeRule::linear;
  } else if (rule == "llama3") {
    s.rule = RopeRule::llama3;
    s.low_freq_factor = r.optional_number("low_freq_factor", kPositive).value_or(1);
    s.high_freq_factor = r.optional_number("high_freq_factor", kPositive).value_or(4);
  } else if (rule == "yarn" || rule == "deepseek_yarn") {
    s.rule = RopeRule::yarn;
    read_yarn(r, a);
  } else {
    s.rule = RopeRule::unknown;
    fields.assume(fmt::format("{}: rotary positions of kind \"{}\" cost what plain ones do",
                              r.path_of("rope_type"), rule));
  }
  const bool needs_length = s.rule == RopeRule::llama3 || s.rule == RopeRule::yarn;
  if (needs_length && s.original_positions <= 0) {
    r.problem("original_max_position_embeddings", "missing (positions before scaling)",
              "a number, or max_position_embeddings beside it");
  }
}

}  // namespace

void read_hf_rope(HfFields& fields, AttentionSpec& a) {
  const DoubleRange thetas{1, 1e12};
  ObjectReader& reader = fields.reader();
  read_rotary_dim(fields, a);
  a.rope_interleaved =
      reader.optional_boolean("rope_interleave").value_or(a.kind == AttentionKind::mla);
  const double longest =
      reader.optional_number("max_position_embeddings", {0, 1e12}).value_or(0);
  const bool only_parameters = !fields.has("rope_theta") && fields.has("rope_parameters");
  if (fields.has("rope_parameters")) {
    std::vector<std::string> unsaid;
    if (auto parameters = reader.optional_object("rope_parameters")) {
      if (const auto theta = parameters->optional_number("rope_theta", thetas))
        a.rope_theta = *theta;
      HfFields nested(*parameters, unsaid);
      read_rotary_dim(nested, a);
      read_scaling(fields, *parameters, longest, a);
    }
  }
  if (!only_parameters) {
    a.rope_theta = fields.number_or({"rope_theta"}, thetas, 10000, "the usual base");
  }
  if (!fields.has("rope_scaling")) return;
  if (auto scaling = reader.optional_object("rope_scaling")) {
    read_scaling(fields, *scaling, longest, a);
  }
}

}  // namespace pleat
