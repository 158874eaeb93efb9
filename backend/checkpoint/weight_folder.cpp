// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/weight_folder.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "backend/checkpoint/file_system.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// A file of the folder itself: an index must not point anywhere else.
bool is_plain_name(const std::string& name) {
  return name.ends_with(".safetensors") && name.find_first_of("/\\") == std::string::npos &&
         name.find('\0') == std::string::npos && !name.starts_with('.');
}

}  // namespace

WeightFolder::WeightFolder(const std::string& folder) : folder_(folder) {
  const std::filesystem::path base(folder);
  std::error_code ignored;
  if (std::filesystem::exists(base / kIndex, ignored)) {
    open_shards();
    return;
  }
  if (!std::filesystem::exists(base / kSingle, ignored)) {
    throw_config_error(ExitCode::device_or_io, folder, "", "has no weights",
                       fmt::format("a folder with {} or {}", kSingle, kIndex));
  }
  files_.push_back(std::make_unique<Safetensors>((base / kSingle).string()));
  for (const TensorEntry& t : files_[0]->tensors()) tensors_[t.name] = {files_[0].get(), &t};
}

void WeightFolder::open_shards() {
  const std::string path = (std::filesystem::path(folder_) / kIndex).string();
  const JsonValue root = parse_json(read_text_file(path, kMaxSafetensorsHeader), path,
                                    {.max_bytes = kMaxSafetensorsHeader});
  const JsonValue* map = root.find("weight_map");
  if (map == nullptr || !map->is_object()) {
    throw_config_error(ExitCode::bad_file, path, "weight_map", "missing, or no object");
  }
  std::map<std::string, const Safetensors*> opened;
  for (const JsonMember& m : map->members()) {
    const std::string* file = m.value.as_string();
    const auto fail = [&](const std::string& message) {
      throw_config_error(ExitCode::bad_file, where_of(path, m.position), "weight_map." + m.key,
                         message);
    };
    if (file == nullptr || !is_plain_name(*file)) {
      fail(fmt::format("{} is no name of a safetensors file in this folder", m.value.brief()));
    }
    const Safetensors*& shard = opened[*file];
    if (shard == nullptr) {
      files_.push_back(
          std::make_unique<Safetensors>((std::filesystem::path(folder_) / *file).string()));
      shard = files_.back().get();
    }
    const TensorEntry* entry = shard->find(m.key);
    if (entry == nullptr) fail(fmt::format("{} has no such tensor", *file));
    tensors_[m.key] = {shard, entry};
  }
}

WeightFolder::Found WeightFolder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? Found{} : found->second;
}

void write_weight_folder(
    const std::string& folder, std::vector<TensorEntry> tensors, std::uint64_t shard_bytes,
    const std::function<void(const TensorEntry&, std::span<std::byte>)>& fill) {
  const auto bytes_of_entry = [](const TensorEntry& t) {
    return static_cast<std::uint64_t>(t.elements() * bits_of(t.type) / 8);
  };
  std::vector<std::vector<TensorEntry>> shards(1);
  std::uint64_t in_shard = 0, total = 0;
  for (TensorEntry& t : tensors) {
    const std::uint64_t size = bytes_of_entry(t);
    if (!shards.back().empty() && in_shard + size > shard_bytes) {
      shards.emplace_back();
      in_shard = 0;
    }
    in_shard += size;
    total += size;
    shards.back().push_back(std::move(t));
  }
  JsonValue map = JsonValue::object();
  std::vector<std::byte> buffer;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        shards.size() == 1 ? kSingle
                           : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    const std::string header = make_safetensors_header(shards[i], {{"format", "pt"}});
    DurableFile file((std::filesystem::path(folder) / name).string());
    file.append(std::as_bytes(std::span(header)));
    for (const TensorEntry& t : shards[i]) {
      buffer.resize(t.end - t.begin);
      fill(t, buffer);
      file.append(buffer);
      map.mutable_members().push_back({t.name, {}, JsonValue(name)});
    }
    file.commit();
  }
  if (shards.size() == 1) return;
  JsonValue size = JsonValue::object(), index = JsonValue::object();
  size.set("total_size", total);
  index.set("metadata", size).set("weight_map", map);
  write_text_file((std::filesystem::path(folder) / kIndex).string(), index.dump() + "\n");
}

}  // namespace pleat
