// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The raw samples of a calibration as JSON.
#include <nlohmann/json.hpp>

#include "calibration/calibrate.hpp"

namespace pleat {
namespace {

using Json = nlohmann::ordered_json;

Json sample_json(const Sample& s) {
  Json j = {{"name", s.name}};
  if (const auto* k = std::get_if<KernelSample>(&s.point)) {
    j["kernel"] = name_of(k->kernel);
    j["flops"] = k->flops.base();
    j["bytes"] = k->bytes.base();
    j["threads"] = k->threads;
    if (k->math != DType::fp32) j["math"] = name_of(k->math);
    if (!k->judged.empty()) j["judged"] = k->judged;
    if (k->norm_bytes > Bytes(0)) j["norm_bytes"] = k->norm_bytes.base();
  } else if (const auto* c = std::get_if<CollectiveSample>(&s.point)) {
    j["collective"] = name_of(c->collective);
    j["group"] = c->group;
    if (c->stride > 1) j["stride"] = c->stride;
    if (c->windows) j["windows"] = true;
    if (c->type != DType::fp32) j["type"] = name_of(c->type);
    if (!c->judged.empty()) j["judged"] = c->judged;
    j["ranks"] = c->ranks;
    j["wire_bytes"] = c->wire.base();
  } else {
    const auto& o = std::get<OtherSample>(s.point);
    j["what"] = o.what;
    j["bytes"] = o.bytes.base();
  }
  j["seconds"] = s.time.base();
  j["repeats"] = s.repeats;
  j["raw"] = s.raw;
  return j;
}

}  // namespace

std::string samples_json(const CalibrationResult& result) {
  Json samples = Json::array(), residuals = Json::array();
  for (const Sample& s : result.samples) samples.push_back(sample_json(s));
  for (const Residual& r : result.residuals) {
    Json j = {{"family", r.family}};
    if (!r.kind.empty()) j["kind"] = r.kind;
    j["in_sample"] = r.in_sample;
    j["in_sample_median"] = r.in_sample_median;
    j["held_out"] = r.held_out;
    j["held_out_median"] = r.held_out_median ? Json(*r.held_out_median) : Json();
    j["held_out_worst"] = r.held_out_worst ? Json(*r.held_out_worst) : Json();
    residuals.push_back(std::move(j));
  }
  Json facts = Json::object();
  for (const auto& [name, value] : result.facts) facts[name] = value;
  return Json({{"schema_version", 1},
               {"profile", result.profile.name},
               {"cluster", result.profile.cluster},
               {"created", result.profile.created},
               {"facts", facts},
               {"not_measured", result.failed},
               {"residuals", residuals},
               {"samples", samples}})
             .dump(1) +
         "\n";
}

}  // namespace pleat
