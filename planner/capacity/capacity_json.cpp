// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json/json_value.hpp"
#include "core/quantity.hpp"
#include "planner/capacity/answer.hpp"
#include "planner/capacity/price_basis.hpp"

namespace pleat {
namespace {

JsonValue object(std::initializer_list<std::pair<const char*, JsonValue>> members) {
  JsonValue value = JsonValue::object();
  for (const auto& [key, member] : members) value.set(key, member);
  return value;
}

JsonValue index_or_null(const std::optional<std::size_t>& index) {
  return index ? JsonValue(static_cast<std::int64_t>(*index)) : JsonValue();
}

JsonValue finite_or_null(double value) {
  return std::isfinite(value) ? JsonValue(value) : JsonValue();
}

JsonValue booking_json(const Offer& o) {
  const Booking& b = o.booking;
  const Job& job = o.job;
  const PaidTime& t = b.paid;
  JsonValue json = object({{"plan", summary(job.plan)},
                           {"proven", o.proven},
                           {"global_batch", job.global_batch},
                           {"tokens", o.tokens},
                           {"steps", b.steps},
                           {"step_s", job.step.base()},
                           {"relative_band", job.band},
                           {"run_step_s", run_step(job).base()},
                           {"run_step_p90_s", run_step(job).base() * run_spread(job)},
                           {"practice", job.practice},
                           {"practice_spread", job.practice_spread},
                           {"load_spread", job.load_spread},
                           {"mfu", job.mfu},
                           {"mfu_of_precision", job.mfu_of_precision},
                           {"peak_bytes", job.peak_bytes},
                           {"host_node_bytes", job.host_bytes}});
  json.set("placement", object({{"domains", b.placement.domains},
                                {"used_of_each_domain", b.placement.used_in_domain},
                                {"used_of_last_domain", b.placement.used_in_last},
                                {"domain_gpus", job.domain},
                                {"paid_gpus", b.placement.paid_gpus},
                                {"spare_units", b.placement.spare_units},
                                {"gpus_of_a_spare_unit", b.placement.unit_gpus},
                                {"available", b.placement.available}}));
  json.set("checkpoint", object({{"bytes", b.save.checkpoint.base()},
                                 {"interval_steps", b.save.interval_steps},
                                 {"interval_s", b.save.interval_steps * run_step(job).base()},
                                 {"stall_s", b.save.stall.base()},
                                 {"upload_s", b.save.upload.base()},
                                 {"background", b.save.background},
                                 {"young_s", finite_or_null(b.save.young.base())},
                                 {"daly_s", finite_or_null(b.save.daly.base())},
                                 {"recovery_pressure", b.save.recovery_pressure}}));
  json.set("mtbf_hours", b.mtbf.base() / kHour);
  json.set("failures", b.failures);
  json.set("goodput", b.goodput);
  json.set("days", object({{"expected", b.finish.expected.base() / kDay},
                           {"p50", b.finish.p50.base() / kDay},
                           {"p90", b.finish.p90.base() / kDay}}));
  json.set("gpu_hours", object({{"p50", b.gpu_hours_p50}, {"p90", b.gpu_hours_p90}}));
  json.set("dollars", object({{"p50", b.dollars_p50}, {"p90", b.dollars_p90}}));
  json.set("energy_mwh", b.energy_mwh);
  json.set("paid_gpu_hours", object({{"useful", t.useful / kHour},
                                     {"checkpoint", t.checkpoint / kHour},
                                     {"lost", t.lost / kHour},
                                     {"restart", t.restart / kHour},
                                     {"waiting", t.waiting / kHour},
                                     {"idle", t.idle / kHour},
                                     {"paid", t.paid / kHour}}));
  return json;
}

JsonValue offer_json(const Offer& o) {
  JsonValue json = object({{"cluster", o.cluster}, {"gpus", o.gpus}});
  json.set("problem", o.problem.empty() ? JsonValue() : JsonValue(o.problem));
  json.set("booking", o.problem.empty() ? booking_json(o) : JsonValue());
  return json;
}

// The rates of every cluster once.
JsonValue rates_json(const std::vector<Offer>& offers) {
  JsonValue clusters = JsonValue::object();
  for (const Offer& o : offers) {
    if (clusters.find(o.cluster) != nullptr) continue;
    JsonValue rates = JsonValue::object();
    for (std::size_t i = 0; i < kRates; ++i) {
      const auto& rate = o.rates.find(static_cast<Rate>(i));
      if (!rate) continue;
      rates.set(facts_of(static_cast<Rate>(i)).key,
                object({{"value", rate->value},
                        {"source", rate->source},
                        {"as_of", rate->as_of},
                        {"basis", rate->basis},
                        {"assumption", rate->assumption}}));
    }
    clusters.set(o.cluster, rates);
  }
  return clusters;
}

JsonValue swings_json(const CapacityAnswer& a) {
  JsonValue list = JsonValue::array();
  for (const Swing& s : a.swings) {
    list.push_back(object({{"input", s.input},
                           {"days_with_20_percent_less", finite_or_null(s.time_less.base() / kDay)},
                           {"days_with_20_percent_more", finite_or_null(s.time_more.base() / kDay)},
                           {"dollars_with_20_percent_less", finite_or_null(s.dollars_less)},
                           {"dollars_with_20_percent_more", finite_or_null(s.dollars_more)},
                           {"effect", finite_or_null(s.effect)}}));
  }
  return object({{"offer", index_or_null(a.explained)}, {"inputs", list}});
}

JsonValue texts_json(const std::vector<std::string>& texts) {
  JsonValue list = JsonValue::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

JsonValue price_json(const CapacityAnswer& a) {
  const PriceBasis basis = price_basis(a.offers);
  return object({{"bases", texts_json(basis.bases)},
                 {"oldest", basis.oldest},
                 {"newest", basis.newest},
                 {"assumed", texts_json(basis.assumed)},
                 {"given", texts_json(basis.given)},
                 {"text", price_basis_text(basis)}});
}

}  // namespace

std::string capacity_json(const CapacityAnswer& a, const std::vector<std::string>& assumed) {
  JsonValue json = object({{"schema_version", 1},
                           {"model", a.model},
                           {"tokens", a.tokens},
                           {"seq_len", a.seq_len},
                           {"global_batch", a.global_batch},
                           {"batch_rule", a.critical_batch ? "critical" : "constant"}});
  json.set("critical_batch_tokens", a.critical_batch ? JsonValue(*a.critical_batch) : JsonValue());
  const Goal& g = a.goal;
  json.set("deadline_days", g.deadline ? JsonValue(g.deadline->base() / kDay) : JsonValue());
  json.set("budget_usd", g.budget ? JsonValue(*g.budget) : JsonValue());
  json.set("confidence", g.confidence == Confidence::p50 ? "p50" : "p90");
  const TuningFacts& tuning = facts_of(a.tuning);
  json.set("tuning", object({{"word", tuning.word},
                             {"median", tuning.median},
                             {"p90", tuning.p90},
                             {"meaning", tuning.meaning}}));
  json.set("price_basis", price_json(a));
  json.set("complete", a.complete);
  JsonValue offers = JsonValue::array();
  for (const Offer& o : a.offers) offers.push_back(offer_json(o));
  json.set("offers", offers);
  json.set("cheapest", index_or_null(a.choice.cheapest));
  json.set("fastest", index_or_null(a.choice.fastest));
  JsonValue front = JsonValue::array();
  for (const std::size_t i : a.choice.front) front.push_back(i);
  json.set("front", front);
  json.set("sensitivity", swings_json(a));
  JsonValue misses = JsonValue::array();
  for (const Miss& m : a.misses) {
    misses.push_back(object({{"what", m.what}, {"changes", texts_json(m.changes)}}));
  }
  json.set("misses", misses);
  json.set("rates", rates_json(a.offers));
  json.set("assumed", texts_json(assumed));
  return json.dump() + "\n";
}

}  // namespace pleat
