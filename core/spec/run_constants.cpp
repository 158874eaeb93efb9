// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The constants of a run in a profile's file: all of them, or those an era overrides.
#include "core/spec/profile_sections.hpp"

namespace pleat {
namespace {

constexpr DoubleRange kShare{0.0, 1.0};
constexpr DoubleRange kBand{0.0, 10.0};
constexpr DoubleRange kFactor{0.0, 10.0};
constexpr DoubleRange kRate{0.01, 10.0};
constexpr IntRange kSmCount{0, 1024};
constexpr IntRange kGpuCount{0, 10'000'000};

void read_number(ObjectReader& reader, const char* key, double& value, DoubleRange range) {
  value = reader.optional_number(key, range).value_or(value);
}

void read_delay(ObjectReader& reader, const char* key, Seconds& value, bool required) {
  const auto range = plausible_range_or_zero<Seconds>();
  value = required ? reader.quantity<Seconds>(key, range)
                   : reader.optional_quantity<Seconds>(key, range).value_or(value);
}

void read_count(ObjectReader& reader, const char* key, int& value) {
  value = static_cast<int>(reader.optional_integer(key, kSmCount).value_or(value));
}

// One number for all rates, or an object.
void read_clock(ObjectReader& reader, SustainedClock& clock, bool required) {
  const JsonValue* found = reader.find("sustained_clock");
  if (found == nullptr && !required) return;
  if (found == nullptr || !found->is_object()) {
    clock.gemm_bf16 = clock.gemm_fp8 = clock.gemm_fp4 = clock.attention =
        reader.number("sustained_clock", kFraction);
    return;
  }
  ObjectReader object = reader.object("sustained_clock");
  read_number(object, "gemm_bf16", clock.gemm_bf16, kFraction);
  read_number(object, "gemm_fp8", clock.gemm_fp8, kFraction);
  clock.gemm_fp4 = object.optional_number("gemm_fp4", kFraction).value_or(clock.gemm_fp8);
  read_number(object, "attention", clock.attention, kFraction);
  read_number(object, "duty_slope", clock.duty_slope, kShare);
  read_number(object, "duty_free", clock.duty_free, kShare);
  read_number(object, "floor", clock.floor, kFraction);
  object.finish();
}

void read_by_graph(ObjectReader& reader, const char* key, ByGraph& value) {
  auto object = reader.optional_object(key);
  if (!object) return;
  read_delay(*object, "none", value.none, false);
  read_delay(*object, "router", value.router, false);
  read_delay(*object, "partial", value.partial, false);
  read_delay(*object, "full_iteration", value.full_iteration, false);
  object->finish();
}

JsonValue clock_json(const SustainedClock& c) {
  return JsonValue::object()
      .set("gemm_bf16", c.gemm_bf16)
      .set("gemm_fp8", c.gemm_fp8)
      .set("gemm_fp4", c.gemm_fp4)
      .set("attention", c.attention)
      .set("duty_slope", c.duty_slope)
      .set("duty_free", c.duty_free)
      .set("floor", c.floor);
}

void read_band_terms(ObjectReader& reader, BandTerms& terms) {
  auto object = reader.optional_object("band_terms");
  if (!object) return;
  read_number(*object, "era", terms.era, kBand);
  read_number(*object, "experts", terms.experts, kBand);
  read_number(*object, "nccl_exchange", terms.nccl_exchange, kBand);
  read_number(*object, "sharded", terms.sharded, kBand);
  read_number(*object, "hybrid", terms.hybrid, kBand);
  read_number(*object, "doubling", terms.doubling, kBand);
  terms.largest_run = static_cast<int>(
      object->optional_integer("largest_run", kGpuCount).value_or(terms.largest_run));
  object->finish();
}

JsonValue band_terms_json(const BandTerms& terms) {
  return JsonValue::object()
      .set("era", terms.era)
      .set("experts", terms.experts)
      .set("nccl_exchange", terms.nccl_exchange)
      .set("sharded", terms.sharded)
      .set("hybrid", terms.hybrid)
      .set("doubling", terms.doubling)
      .set("largest_run", terms.largest_run);
}

JsonValue by_graph_json(const ByGraph& g) {
  return JsonValue::object()
      .set("none", exact_text(g.none))
      .set("router", exact_text(g.router))
      .set("partial", exact_text(g.partial))
      .set("full_iteration", exact_text(g.full_iteration));
}

}  // namespace

void read_run_constants(ObjectReader& reader, RunConstants& run, bool required) {
  read_delay(reader, "host_per_op", run.host_per_op, required);
  read_delay(reader, "step_overhead", run.step_overhead, required);
  read_clock(reader, run.sustained_clock, required);
  read_number(reader, "overlap_efficiency", run.overlap_efficiency, kShare);
  read_number(reader, "overlap_efficiency_nccl", run.overlap_efficiency_nccl, kShare);
  read_number(reader, "tp_overlap_exposed", run.tp_overlap_exposed, kShare);
  read_number(reader, "dp_beside_compute", run.dp_beside_compute, kShare);
  read_number(reader, "dp_beside_pipeline", run.dp_beside_pipeline, kShare);
  read_number(reader, "slowest_host", run.slowest_host, kShare);
  read_number(reader, "unbound_host", run.unbound_host, {1, 100});
  run.slowest_host_from = static_cast<int>(
      reader.optional_integer("slowest_host_from", {1, 1024}).value_or(run.slowest_host_from));
  read_number(reader, "token_mixing_rate", run.token_mixing_rate, kFraction);
  read_number(reader, "selected_keys_forward", run.selected_keys_forward, kFraction);
  read_number(reader, "selected_keys_backward", run.selected_keys_backward, kFraction);
  read_band_terms(reader, run.band_terms);
  read_delay(reader, "host_per_launch", run.host_per_launch, false);
  read_delay(reader, "host_per_sharded_weight", run.host_per_sharded_weight, false);
  read_number(reader, "exchange_rate", run.exchange_rate, kRate);
  read_number(reader, "exchange_rate_nccl", run.exchange_rate_nccl, kRate);
  run.exchange_row_overhead =
      reader.optional_quantity<Bytes>("exchange_row_overhead", plausible_range_or_zero<Bytes>())
          .value_or(run.exchange_row_overhead);
  read_number(reader, "comm_slowdown", run.comm_slowdown, {1.0, 10.0});
  read_number(reader, "comm_slowdown_of_compute", run.comm_slowdown_of_compute, kFactor);
  read_number(reader, "grouped_launches", run.grouped_launches, kFactor);
  read_count(reader, "nccl_sms", run.nccl_sms);
  read_count(reader, "deepep_sms", run.deepep_sms);
  read_count(reader, "hybridep_sms", run.hybridep_sms);
  read_by_graph(reader, "host_per_moe_layer", run.host_per_moe_layer);
  read_by_graph(reader, "host_per_dense_layer", run.host_per_dense_layer);
  read_delay(reader, "host_busy_per_layer", run.host_busy_per_layer, false);
  read_delay(reader, "tp_skew", run.tp_skew, false);
  read_delay(reader, "host_per_head", run.host_per_head, false);
}

void write_run_constants(const RunConstants& run, const RunConstants* base, JsonValue& into) {
  const RunConstants defaults;
  const RunConstants& other = base != nullptr ? *base : defaults;
  auto put = [&](const char* key, const auto& value, const auto& usual, auto json) {
    if (!(value == usual)) into.set(key, json(value));
  };
  const auto plain = [](auto value) { return JsonValue(value); };
  const auto delay = [](Seconds value) { return JsonValue(exact_text(value)); };
  if (base == nullptr) {
    into.set("host_per_op", exact_text(run.host_per_op))
        .set("step_overhead", exact_text(run.step_overhead))
        .set("sustained_clock", clock_json(run.sustained_clock));
  } else {
    put("host_per_op", run.host_per_op, other.host_per_op, delay);
    put("step_overhead", run.step_overhead, other.step_overhead, delay);
    put("sustained_clock", run.sustained_clock, other.sustained_clock, clock_json);
  }
  put("overlap_efficiency", run.overlap_efficiency, other.overlap_efficiency, plain);
  put("overlap_efficiency_nccl", run.overlap_efficiency_nccl, other.overlap_efficiency_nccl, plain);
  put("tp_overlap_exposed", run.tp_overlap_exposed, other.tp_overlap_exposed, plain);
  put("dp_beside_compute", run.dp_beside_compute, other.dp_beside_compute, plain);
  put("dp_beside_pipeline", run.dp_beside_pipeline, other.dp_beside_pipeline, plain);
  put("slowest_host", run.slowest_host, other.slowest_host, plain);
  put("unbound_host", run.unbound_host, other.unbound_host, plain);
  put("slowest_host_from", run.slowest_host_from, other.slowest_host_from, plain);
  put("token_mixing_rate", run.token_mixing_rate, other.token_mixing_rate, plain);
  put("selected_keys_forward", run.selected_keys_forward, other.selected_keys_forward, plain);
  put("selected_keys_backward", run.selected_keys_backward, other.selected_keys_backward, plain);
  put("band_terms", run.band_terms, other.band_terms, band_terms_json);
  put("host_per_launch", run.host_per_launch, other.host_per_launch, delay);
  put("host_per_sharded_weight", run.host_per_sharded_weight, other.host_per_sharded_weight, delay);
  put("exchange_rate", run.exchange_rate, other.exchange_rate, plain);
  put("exchange_rate_nccl", run.exchange_rate_nccl, other.exchange_rate_nccl, plain);
  put("exchange_row_overhead", run.exchange_row_overhead, other.exchange_row_overhead,
      [](Bytes value) { return JsonValue(exact_text(value)); });
  put("comm_slowdown", run.comm_slowdown, other.comm_slowdown, plain);
  put("comm_slowdown_of_compute", run.comm_slowdown_of_compute, other.comm_slowdown_of_compute,
      plain);
  put("grouped_launches", run.grouped_launches, other.grouped_launches, plain);
  put("nccl_sms", run.nccl_sms, other.nccl_sms, plain);
  put("deepep_sms", run.deepep_sms, other.deepep_sms, plain);
  put("hybridep_sms", run.hybridep_sms, other.hybridep_sms, plain);
  put("host_per_moe_layer", run.host_per_moe_layer, other.host_per_moe_layer, by_graph_json);
  put("host_per_dense_layer", run.host_per_dense_layer, other.host_per_dense_layer, by_graph_json);
  put("host_busy_per_layer", run.host_busy_per_layer, other.host_busy_per_layer, delay);
  put("tp_skew", run.tp_skew, other.tp_skew, delay);
  put("host_per_head", run.host_per_head, other.host_per_head, delay);
}

void slow_host(RunConstants& run, double factor) {
  for (Seconds* time : {&run.host_per_op, &run.host_per_launch, &run.host_busy_per_layer,
                        &run.host_per_sharded_weight, &run.host_per_head}) {
    *time *= factor;
  }
  for (ByGraph* times : {&run.host_per_moe_layer, &run.host_per_dense_layer}) {
    for (Seconds* time :
         {&times->none, &times->router, &times->partial, &times->full_iteration}) {
      *time *= factor;
    }
  }
}

}  // namespace pleat
