// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "backend/checkpoint/safetensors.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"

namespace pleat {
namespace {

constexpr IntRange kCount{0, std::numeric_limits<std::int64_t>::max()};
constexpr IntRange kRanks{0, 16'777'215};

JsonValue to_json(const SavedFile& f) {
  JsonValue json = JsonValue::object();
  json.set("name", f.name).set("bytes", f.bytes).set("xxh3_128", f.digest);
  return json;
}

JsonValue to_json(const std::map<std::string, SavedTensor>& tensors) {
  JsonValue all = JsonValue::array();
  for (const auto& [name, tensor] : tensors) {
    JsonValue parts = JsonValue::array();
    for (const TensorPart& part : tensor.parts) {
      JsonValue numbers = JsonValue::array();
      numbers.push_back(part.rank);
      for (const RunPattern& run : part.runs) {
        numbers.push_back(run.whole)
            .push_back(run.elements)
            .push_back(run.count)
            .push_back(run.step);
      }
      parts.push_back(numbers);
    }
    JsonValue json = JsonValue::object();
    json.set("name", name).set("dtype", name_of(tensor.type)).set("elements", tensor.elements);
    json.set("parts", parts);
    all.push_back(json);
  }
  return all;
}

SavedFile read_file(ObjectReader reader) {
  SavedFile file;
  file.name = reader.text("name");
  file.bytes = static_cast<std::uint64_t>(reader.integer("bytes", kCount));
  file.digest = reader.text("xxh3_128");
  reader.finish();
  return file;
}

// [rank, whole, elements, count, step, whole, …]: runs inside the tensor.
TensorPart read_part(const JsonValue& value, std::int64_t elements, ObjectReader& reader) {
  TensorPart part;
  const auto bad = [&] {
    reader.problem("parts", "a part is a rank and runs of four numbers inside the tensor");
    return TensorPart{};
  };
  if (value.items().size() % 4 != 1) return bad();
  std::vector<std::int64_t> n;
  for (const JsonValue& item : value.items()) {
    const std::int64_t* const number = item.as_integer();
    if (number == nullptr || *number < 0) return bad();
    n.push_back(*number);
  }
  if (n[0] > kRanks.max) return bad();
  part.rank = static_cast<int>(n[0]);
  for (std::size_t i = 1; i < n.size(); i += 4) {
    const RunPattern run{n[i], n[i + 1], n[i + 2], n[i + 3]};
    std::int64_t last = 0, size = 0;
    if (run.elements < 1 || run.count < 1 ||
        __builtin_mul_overflow(run.count - 1, run.step, &last) ||
        __builtin_mul_overflow(run.count, run.elements, &size) ||
        __builtin_add_overflow(last, run.whole, &last) || run.elements > elements ||
        size > elements || last > elements - run.elements) {
      return bad();
    }
    part.runs.push_back(run);
  }
  return part;
}

void read_tensor(ObjectReader reader, std::map<std::string, SavedTensor>& tensors) {
  SavedTensor tensor;
  const std::string name = reader.text("name");
  const auto type = element_type_named(reader.text("dtype"));
  if (!type) reader.problem("dtype", "unknown type", "one of the types of safetensors");
  tensor.type = type.value_or(ElementType::f32);
  tensor.elements = reader.integer("elements", kCount);
  for (const JsonValue& part : reader.array("parts")) {
    tensor.parts.push_back(read_part(part, tensor.elements, reader));
  }
  if (tensors.contains(name)) reader.problem("name", fmt::format("\"{}\" is there twice", name));
  reader.finish();
  tensors[name] = std::move(tensor);
}

}  // namespace

void add_run(std::vector<RunPattern>& runs, std::int64_t whole, std::int64_t elements) {
  if (!runs.empty()) {
    RunPattern& last = runs.back();
    const std::int64_t begin = last.whole + (last.count - 1) * last.step;
    if (last.count == 1 && begin + last.elements == whole) {
      last.elements += elements;
      return;
    }
    if (last.elements == elements && whole > begin &&
        (last.count == 1 || whole - begin == last.step)) {
      last.step = whole - begin;
      ++last.count;
      return;
    }
  }
  runs.push_back({whole, elements, 1, 0});
}

std::string shard_name(int rank) { return fmt::format("shard_{:05}.safetensors", rank); }

std::string write_manifest(const Manifest& m) {
  const TrainingState& s = m.state;
  JsonValue state = JsonValue::object(), files = JsonValue::array(), json = JsonValue::object();
  state.set("step", s.step).set("updates", s.updates).set("samples", s.samples);
  state.set("seq_len", s.seq_len).set("global_batch", s.global_batch);
  state.set("seed", fmt::format("{}", s.seed)).set("data", s.data);
  if (s.order_samples > 0) state.set("order_samples", s.order_samples);
  if (s.data_begins > 0) state.set("data_begins", s.data_begins);
  for (const SavedFile& file : m.files) files.push_back(to_json(file));
  json.set("schema_version", kCheckpointSchemaVersion).set("state", state).set("world", m.world);
  json.set("plan", m.plan).set("files", files).set("tensors", to_json(m.tensors));
  return json.dump(1) + "\n";
}

Manifest read_manifest(const std::string& text, const std::string& path) {
  const JsonValue root = parse_json(text, path, {.max_bytes = kMaxSafetensorsHeader});
  Diagnostics problems;
  ObjectReader reader(root, "", {path, problems});
  reader.schema_version(kCheckpointSchemaVersion);
  Manifest m;
  ObjectReader state = reader.object("state");
  m.state.step = state.integer("step", kCount);
  m.state.updates = state.integer("updates", kCount);
  m.state.samples = state.integer("samples", kCount);
  m.state.seq_len = state.integer("seq_len", kCount);
  m.state.global_batch = state.integer("global_batch", kCount);
  const std::string seed = state.text("seed");
  m.state.seed = std::strtoull(seed.c_str(), nullptr, 10);
  m.state.data = state.text("data");
  m.state.order_samples = state.optional_integer("order_samples", kCount).value_or(0);
  m.state.data_begins = state.optional_integer("data_begins", kCount).value_or(0);
  state.finish();
  m.world = static_cast<int>(reader.integer("world", {1, kRanks.max + 1}));
  m.plan = reader.text("plan");
  reader.each_object("files", [&](ObjectReader r) { m.files.push_back(read_file(r)); });
  reader.each_object("tensors", [&](ObjectReader r) { read_tensor(r, m.tensors); });
  reader.finish();
  problems.throw_if_errors();
  return m;
}

std::string write_record(const ShardRecord& record) {
  JsonValue json = JsonValue::object();
  json.set("file", to_json(record.file)).set("tensors", to_json(record.tensors));
  return json.dump(0);
}

void add_record(Manifest& m, const std::string& record) {
  const std::string name = "shard record";
  const JsonValue root = parse_json(record, name, {.max_bytes = kMaxSafetensorsHeader});
  Diagnostics problems;
  ObjectReader reader(root, "", {name, problems});
  m.files.push_back(read_file(reader.object("file")));
  std::map<std::string, SavedTensor> tensors;
  reader.each_object("tensors", [&](ObjectReader r) { read_tensor(r, tensors); });
  problems.throw_if_errors();
  for (auto& [key, tensor] : tensors) {
    SavedTensor& all = m.tensors[key];
    all.type = tensor.type;
    all.elements = tensor.elements;
    all.parts.insert(all.parts.end(), tensor.parts.begin(), tensor.parts.end());
  }
}

}  // namespace pleat
