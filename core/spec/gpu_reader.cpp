// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/gpu_reader.hpp"

#include <optional>

#include "core/json/parse.hpp"

namespace pleat {
namespace {

// A peak that the hardware does not have, and a rate that nobody saw, are left out of the file.
FlopsPerSecond rate_or_none(ObjectReader& reader, const std::string& key) {
  if (!reader.has(key)) {
    reader.find(key);  // a known field all the same
    return FlopsPerSecond(0);
  }
  return sourced_quantity<FlopsPerSecond>(reader, key);
}

void require_below_peak(ObjectReader& reader, const std::string& key, FlopsPerSecond reached,
                        FlopsPerSecond peak) {
  if (reached > peak) {
    reader.problem(key, "is above the peak of its format", "at most the peak, or no such field");
  }
}

}  // namespace

GpuSpec read_gpu_object(ObjectReader& reader) {
  GpuSpec gpu;
  reader.schema_version(1);
  gpu.name = reader.text("name");
  gpu.peak_fp32 = sourced_quantity<FlopsPerSecond>(reader, "peak_fp32");
  gpu.peak_bf16 = rate_or_none(reader, "peak_bf16");
  gpu.peak_fp8 = rate_or_none(reader, "peak_fp8");
  gpu.peak_fp4 = rate_or_none(reader, "peak_fp4");
  gpu.memory = sourced_quantity<Bytes>(reader, "memory");
  gpu.memory_bandwidth = sourced_quantity<BytesPerSecond>(reader, "memory_bandwidth");
  gpu.host_link = sourced_quantity<BytesPerSecond>(reader, "host_link");
  gpu.tdp = sourced_quantity<Watts>(reader, "tdp");
  if (reader.find("sms") != nullptr) {
    gpu.sms = static_cast<int>(sourced_integer(reader, "sms", {1, 65536}));
  }
  gpu.reached_bf16 = rate_or_none(reader, "reached_bf16");
  gpu.reached_fp8 = rate_or_none(reader, "reached_fp8");
  require_below_peak(reader, "reached_bf16", gpu.reached_bf16, gpu.peak_bf16);
  require_below_peak(reader, "reached_fp8", gpu.reached_fp8, gpu.peak_fp8);
  if (reader.find("datasheet_band") != nullptr) {
    gpu.datasheet_band = read_sourced(reader, "datasheet_band", [](auto& r, const auto& key) {
      return r.number(key, {.min = 0.0, .max = 0.95, .above_min = true});
    });
  }
  gpu.software = read_software(reader);
  reader.optional_text("notes");
  reader.finish();
  return gpu;
}

SoftwareFacts read_software(ObjectReader& parent) {
  SoftwareFacts all;
  std::optional<ObjectReader> reader = parent.optional_object("software");
  if (!reader) return all;
  for (std::size_t i = 0; i < kSoftwareCount; ++i) {
    const std::string name(kSoftwareNames[i]);
    const JsonValue* const found = reader->find(name);
    if (found == nullptr) continue;
    SoftwareFact& fact = all.facts[i];
    if (found->is_object()) {
      ObjectReader one = reader->object(name);
      fact.there = one.boolean("value");
      fact.source = one.text("source");
      one.finish();
    } else {
      fact.there = reader->boolean(name);
    }
  }
  reader->finish();
  return all;
}

GpuSpec read_gpu(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader reader(root, "", {file_name, problems});
  GpuSpec gpu = read_gpu_object(reader);
  problems.throw_if_errors();
  return gpu;
}

FlopsPerSecond GpuSpec::peak(DType type) const {
  switch (type) {
    case DType::fp32:
      return peak_fp32;
    case DType::bf16:
    case DType::fp16:
      return peak_bf16;
    case DType::fp8:
    case DType::mxfp8:
      return peak_fp8;
    case DType::nvfp4:
      return peak_fp4;
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::remainder16:
      return FlopsPerSecond(0);  // no arithmetic is priced in these
  }
  return FlopsPerSecond(0);
}

}  // namespace pleat
