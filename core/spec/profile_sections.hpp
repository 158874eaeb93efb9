// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parts of a profile's file that are optional: laws of matrix products, attention rates, exchange
// rates, constants of a run and of software eras, what was learned. Absent parts keep their
// defaults.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

extern const std::vector<std::string> kSourceNames;  // in the order of SourceClass

[[nodiscard]] SourceClass read_source(ObjectReader&);
[[nodiscard]] std::string source_name(SourceClass);

// A plausible time, or zero.
[[nodiscard]] Seconds read_delay(ObjectReader&, const std::string& key);

[[nodiscard]] GemmLaws read_gemm_laws(ObjectReader);
[[nodiscard]] JsonValue write_gemm_laws(const GemmLaws&);

[[nodiscard]] AttentionRates read_attention_rates(ObjectReader& profile);
[[nodiscard]] JsonValue write_attention_rates(const AttentionRates&);

[[nodiscard]] std::vector<DispatchRate> read_dispatch_rates(ObjectReader& profile);
[[nodiscard]] JsonValue write_dispatch_rates(const std::vector<DispatchRate>&);

[[nodiscard]] Learned read_learned(ObjectReader);
[[nodiscard]] JsonValue write_learned(const Learned&);

// Keys that are there replace values of `run`. `required`: the keys without which no profile is.
void read_run_constants(ObjectReader&, RunConstants& run, bool required);
// Keys whose value differs from `base`; all required ones if `base` is null.
void write_run_constants(const RunConstants&, const RunConstants* base, JsonValue& into);

}  // namespace pleat
