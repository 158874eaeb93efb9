// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured kernels in a profile's file.
#include "core/spec/profile_sections.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pleat {

const std::vector<std::string> kSourceNames{"measured", "interpolated", "fitted", "datasheet"};

namespace {

// In the order of the enums.
const std::vector<std::string> kMathNames{"bf16", "fp8", "fp8_block", "mxfp8", "nvfp4"};
const std::vector<std::string> kLayoutNames{"gqa", "mla"};
const std::vector<std::string> kPassNames{"forward", "backward"};
const std::vector<std::string> kDispatchNames{"deepep", "hybridep"};
constexpr std::size_t kAttentionMaths = 3;  // the first of these names of kAttentionMathNames
const std::vector<std::string> kAttentionMathNames{"bf16", "fp8", "mxfp8"};

GemmLaw read_law(ObjectReader reader) {
  GemmLaw law;
  law.rate = reader.quantity<FlopsPerSecond>("rate");
  law.depth = reader.number("depth", {0, 1e5});
  law.fixed = read_delay(reader, "fixed");
  law.bandwidth = reader.quantity<BytesPerSecond>("bandwidth");
  law.tile_exponent = reader.number("tile_exponent", {0, 2});
  law.wave = reader.number("wave", {0, 1});
  law.source = read_source(reader);
  law.table = reader.optional_text("table").value_or("");
  reader.finish();
  return law;
}

JsonValue write_law(const GemmLaw& law) {
  JsonValue json = JsonValue::object()
                       .set("rate", exact_text(law.rate))
                       .set("depth", law.depth)
                       .set("fixed", exact_text(law.fixed))
                       .set("bandwidth", exact_text(law.bandwidth))
                       .set("tile_exponent", law.tile_exponent)
                       .set("wave", law.wave)
                       .set("source", source_name(law.source));
  if (!law.table.empty()) json.set("table", law.table);
  return json;
}

GemmTile read_tile(const JsonValue& value, std::size_t i, ObjectReader& reader) {
  const JsonValue::Array& sides = value.items();
  const std::int64_t* m = sides.size() == 2 ? sides[0].as_integer() : nullptr;
  const std::int64_t* n = sides.size() == 2 ? sides[1].as_integer() : nullptr;
  if (m == nullptr || n == nullptr || *m < 1 || *n < 1 || *m > 4096 || *n > 4096) {
    reader.problem("tiles", fmt::format("tile {}: expected [rows, columns]", i));
    return {};
  }
  return {static_cast<int>(*m), static_cast<int>(*n)};
}

// [[2048, "484 TFLOP/s"], ...], lengths ascending.
void read_rates(ObjectReader& reader, AttentionRate& rate) {
  const JsonValue::Array& points = reader.array("rates");
  if (points.empty()) reader.problem("rates", "needs at least one point");
  for (const JsonValue& point : points) {
    const JsonValue::Array& pair = point.items();
    const std::int64_t* seq = pair.size() == 2 ? pair[0].as_integer() : nullptr;
    const std::string* text = pair.size() == 2 ? pair[1].as_string() : nullptr;
    if (seq == nullptr || text == nullptr || *seq < 1) {
      reader.problem("rates", "expected [tokens, \"... TFLOP/s\"]");
      return;
    }
    const auto parsed = parse_quantity<FlopsPerSecond>(*text);
    const double x = std::log(static_cast<double>(*seq));
    if (!parsed.value) {
      reader.problem("rates", parsed.problem, parsed.hint);
      return;
    }
    if (!rate.log_seq.empty() && x <= rate.log_seq.back()) {
      reader.problem("rates", "sequence lengths do not ascend");
      return;
    }
    rate.log_seq.push_back(x);
    rate.rate.push_back(parsed.value->base());
  }
}

}  // namespace

Seconds read_delay(ObjectReader& reader, const std::string& key) {
  return reader.quantity<Seconds>(key, plausible_range_or_zero<Seconds>());
}

SourceClass read_source(ObjectReader& reader) {
  return static_cast<SourceClass>(reader.choice("source", kSourceNames));
}

std::string source_name(SourceClass source) {
  return kSourceNames[static_cast<std::size_t>(source)];
}

GemmLaws read_gemm_laws(ObjectReader reader) {
  GemmLaws laws;
  const JsonValue::Array& tiles = reader.array("tiles");
  if (tiles.empty()) reader.problem("tiles", "needs at least one tile");
  for (std::size_t i = 0; i < tiles.size(); ++i)
    laws.tiles.push_back(read_tile(tiles[i], i, reader));
  for (std::size_t i = 0; i < kGemmMaths; ++i) {
    if (auto law = reader.optional_object(kMathNames[i])) laws.by_math[i] = read_law(*law);
  }
  if (auto grouped = reader.optional_object("grouped")) {
    laws.grouped.forward_per_expert = read_delay(*grouped, "forward_per_expert");
    laws.grouped.backward_per_expert = read_delay(*grouped, "backward_per_expert");
    laws.grouped.wgrad_per_expert = read_delay(*grouped, "wgrad_per_expert");
    laws.grouped.wgrad_rate = grouped->number("wgrad_rate", kFraction);
    laws.grouped.row_multiple = static_cast<int>(grouped->integer("row_multiple", {1, 4096}));
    laws.grouped.rate = grouped->optional_number("rate", kFraction).value_or(1);
    laws.grouped.narrow_rate = grouped->optional_number("narrow_rate", kFraction).value_or(1);
    grouped->finish();
  }
  reader.finish();
  return laws;
}

JsonValue write_gemm_laws(const GemmLaws& laws) {
  JsonValue tiles = JsonValue::array();
  for (const GemmTile& t : laws.tiles)
    tiles.push_back(JsonValue::array().push_back(t.m).push_back(t.n));
  JsonValue json = JsonValue::object().set("tiles", std::move(tiles));
  for (std::size_t i = 0; i < kGemmMaths; ++i) {
    const GemmLaw& law = laws.by_math[i];
    if (law.rate > FlopsPerSecond(0)) json.set(kMathNames[i], write_law(law));
  }
  JsonValue grouped = JsonValue::object()
                          .set("forward_per_expert", exact_text(laws.grouped.forward_per_expert))
                          .set("backward_per_expert", exact_text(laws.grouped.backward_per_expert))
                          .set("wgrad_per_expert", exact_text(laws.grouped.wgrad_per_expert))
                          .set("wgrad_rate", laws.grouped.wgrad_rate)
                          .set("row_multiple", laws.grouped.row_multiple);
  if (laws.grouped.rate != 1) grouped.set("rate", laws.grouped.rate);
  if (laws.grouped.narrow_rate != 1) grouped.set("narrow_rate", laws.grouped.narrow_rate);
  return json.set("grouped", std::move(grouped));
}

AttentionRates read_attention_rates(ObjectReader& profile) {
  AttentionRates rates{};
  profile.each_optional_object("attention", [&](ObjectReader reader) {
    const std::size_t layout = reader.choice("layout", kLayoutNames);
    const std::size_t math = reader.choice("math", kAttentionMathNames);
    const std::size_t pass = reader.choice("pass", kPassNames);
    AttentionRate& rate = rates[layout][math][pass];
    if (!rate.empty()) reader.problem("pass", "this layout, math and pass is there twice");
    rate.source = read_source(reader);
    rate.log_seq.clear();
    rate.rate.clear();
    read_rates(reader, rate);
    reader.finish();
  });
  return rates;
}

JsonValue write_attention_rates(const AttentionRates& rates) {
  JsonValue list = JsonValue::array();
  for (std::size_t layout = 0; layout < rates.size(); ++layout) {
    for (std::size_t math = 0; math < kAttentionMaths; ++math) {
      for (std::size_t pass = 0; pass < 2; ++pass) {
        const AttentionRate& rate = rates[layout][math][pass];
        if (rate.empty()) continue;
        JsonValue points = JsonValue::array();
        for (std::size_t i = 0; i < rate.rate.size(); ++i) {
          points.push_back(JsonValue::array()
                               .push_back(std::llround(std::exp(rate.log_seq[i])))
                               .push_back(exact_text(FlopsPerSecond(rate.rate[i]))));
        }
        list.push_back(JsonValue::object()
                           .set("layout", kLayoutNames[layout])
                           .set("math", kAttentionMathNames[math])
                           .set("pass", kPassNames[pass])
                           .set("source", source_name(rate.source))
                           .set("rates", std::move(points)));
      }
    }
  }
  return list;
}

std::vector<DispatchRate> read_dispatch_rates(ObjectReader& profile) {
  std::vector<DispatchRate> rates;
  profile.each_optional_object("dispatch", [&](ObjectReader reader) {
    DispatchRate rate;
    rate.kernel = static_cast<DispatchKernel>(reader.choice("kernel", kDispatchNames));
    rate.tier = static_cast<int>(reader.integer("tier", {0, 1}));
    rate.ranks = static_cast<int>(reader.integer("ranks", {2, 1 << 20}));
    rate.sms = static_cast<int>(reader.integer("sms", {1, 1024}));
    rate.dispatch = reader.quantity<BytesPerSecond>("dispatch");
    rate.combine = reader.quantity<BytesPerSecond>("combine");
    rate.source = read_source(reader);
    reader.finish();
    rates.push_back(rate);
  });
  return rates;
}

JsonValue write_dispatch_rates(const std::vector<DispatchRate>& rates) {
  JsonValue list = JsonValue::array();
  for (const DispatchRate& rate : rates) {
    list.push_back(JsonValue::object()
                       .set("kernel", kDispatchNames[static_cast<std::size_t>(rate.kernel)])
                       .set("tier", rate.tier)
                       .set("ranks", rate.ranks)
                       .set("sms", rate.sms)
                       .set("dispatch", exact_text(rate.dispatch))
                       .set("combine", exact_text(rate.combine))
                       .set("source", source_name(rate.source)));
  }
  return list;
}

}  // namespace pleat
