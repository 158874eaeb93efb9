// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/hf_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kScaleBlock = 128;  // DeepSeek-V3: README_WEIGHTS.md
constexpr const char* kScaleSuffix = "_scale_inv";
constexpr std::size_t kWeightBytes = std::size_t{4} << 20;  // at once
constexpr std::size_t kNamed = 8;  // tensors named in a message

// Tensors that carry nothing we need: tables that are computed, prediction depths that the model
// does not use, the output table where it is the input table.
bool is_ignorable(const std::string& name, const ModelSpec& m) {
  if (name.ends_with(".rotary_emb.inv_freq")) return true;
  if (m.tied_embeddings && name == "lm_head.weight") return true;
  if (m.model_type == "ernie4_5_moe" && name.starts_with("model.mtp_")) return true;
  const std::string prefix = "model.layers.";
  if (!name.starts_with(prefix)) return false;
  const std::string number =
      name.substr(prefix.size(), name.find('.', prefix.size()) - prefix.size());
  const bool digits =
      !number.empty() && number.size() < 10 &&
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && std::stoll(number) >= m.layers;
}

// Weights that are no numbers would only be seen as a loss that is none, if at all.
void require_finite(std::span<const float> row, const WeightFolder::Found& from, std::int64_t r) {
  const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
  if (bad == row.end()) return;
  throw_config_error(ExitCode::bad_file, from.file->path(), from.entry->name,
                     fmt::format("row {}, column {} is {}", r, bad - row.begin(), *bad),
                     "weights that are finite numbers");
}

std::string first_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, names.size())));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

}  // namespace

HfWeights::HfWeights(const std::string& folder, const ModelSpec& model) : files_(folder) {
  Diagnostics problems;
  std::set<std::string, std::less<>> used;
  std::vector<std::string> missing;
  for (HfWeight& weight : hf_weight_map(model)) {
    Located located;
    for (const HfRows& rows : weight.parts) {
      const auto place =
          std::find_if(rows.places.begin(), rows.places.end(),
                       [&](const HfPlace& p) { return files_.find(p.tensor).entry != nullptr; });
      if (place == rows.places.end()) {
        missing.push_back(rows.places.front().tensor);
        continue;
      }
      const WeightFolder::Found found = files_.find(place->tensor);
      if (found.entry->shape != place->shape) {
        problems.error(
            ExitCode::bad_file, found.file->path(), place->tensor,
            fmt::format("has shape {}, the model needs {}", found.entry->shape, place->shape));
      }
      if (!is_readable(found.entry->type)) {
        problems.error(ExitCode::bad_file, found.file->path(), place->tensor,
                       fmt::format("has type {}", name_of(found.entry->type)),
                       "F32, F64, F16, BF16, F8_E4M3 or F8_E5M2");
      }
      const WeightFolder::Found scales = files_.find(place->tensor + kScaleSuffix);
      if (scales.entry != nullptr) {
        used.insert(scales.entry->name);
        const std::vector<std::int64_t> blocks{(weight.rows + kScaleBlock - 1) / kScaleBlock,
                                               (weight.columns + kScaleBlock - 1) / kScaleBlock};
        const std::vector<std::int64_t> of_part{(rows.rows + kScaleBlock - 1) / kScaleBlock,
                                                blocks[1]};
        if (scales.entry->shape != of_part || scales.entry->type != ElementType::f32) {
          problems.error(ExitCode::bad_file, scales.file->path(), scales.entry->name,
                         fmt::format("is no F32 of shape {}", of_part));
        }
      }
      used.insert(place->tensor);
      located.parts.push_back({rows, *place, found, scales});
    }
    located.weight = std::move(weight);
    const std::string name = located.weight.name;
    weights_.emplace(name, std::move(located));
  }
  if (!missing.empty()) {
    problems.error(ExitCode::bad_file, folder, "", "has no " + first_of(missing),
                   fmt::format("the weights of {} ({})", model.name, model.model_type));
  }
  std::vector<std::string> strange;
  for (const auto& [name, found] : files_.tensors()) {
    if (!used.contains(name) && !is_ignorable(name, model)) strange.push_back(name);
  }
  if (!strange.empty()) {
    problems.error(ExitCode::bad_file, folder, "",
                   fmt::format("{} has no place for {}", model.name, first_of(strange)),
                   "the config.json that belongs to these weights");
  }
  problems.throw_if_errors();
}

void HfWeights::read(const std::string& name, std::span<float> out) const {
  const auto found = weights_.find(name);
  const auto size = static_cast<std::int64_t>(out.size());
  if (found == weights_.end() || found->second.weight.elements() != size) {
    throw_config_error(ExitCode::bad_file, files_.folder(), name,
                       fmt::format("no weight of that name has {} elements", size));
  }
  const HfWeight& weight = found->second.weight;
  std::size_t next = 0;
  for (const Part& part : found->second.parts) {
    const auto elements = static_cast<std::size_t>(part.rows.rows * weight.columns);
    read_part(part, weight.columns, out.subspan(next, elements));
    next += elements;
  }
}

void HfWeights::read_part(const Part& part, std::int64_t columns, std::span<float> out) const {
  const ElementType type = part.found.entry->type;
  const auto size = static_cast<std::size_t>(bits_of(type) / 8);
  const auto row_bytes = static_cast<std::size_t>(columns) * size;
  const auto all_rows = static_cast<std::size_t>(part.rows.rows);
  const std::size_t at_once = std::min(
      all_rows, std::max<std::size_t>(1, kWeightBytes / std::max<std::size_t>(1, row_bytes)));
  std::vector<std::byte> bytes(at_once * row_bytes);
  std::vector<float> scales;
  if (part.scales.entry != nullptr) {
    scales.resize(static_cast<std::size_t>(part.scales.entry->elements()));
    to_f32(ElementType::f32, part.scales.bytes(), scales);
  }
  const std::int64_t blocks = (columns + kScaleBlock - 1) / kScaleBlock;
  for (std::int64_t r = 0; r < part.rows.rows; ++r) {
    const std::size_t in_room = static_cast<std::size_t>(r) % at_once;
    if (in_room == 0) {
      const std::size_t rows = std::min(at_once, all_rows - static_cast<std::size_t>(r));
      part.found.file->read(*part.found.entry,
                            static_cast<std::uint64_t>(part.place.first + r * columns) * size,
                            std::span(bytes).first(rows * row_bytes));
    }
    const std::span<float> row =
        out.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    to_f32(type, std::span(bytes).subspan(in_room * row_bytes, row_bytes), row);
    for (std::int64_t c = 0; !scales.empty() && c < columns; ++c) {
      row[static_cast<std::size_t>(c)] *=
          scales[static_cast<std::size_t>(r / kScaleBlock * blocks + c / kScaleBlock)];
    }
    require_finite(row, part.found, r);
  }
}

void export_hf_weights(const std::string& folder, const ModelSpec& model, const HfExport& how,
                       const std::function<void(const std::string&, std::span<float>)>& read) {
  struct Source {
    const HfWeight* weight;
    const HfRows* rows;
    std::int64_t first_row;
  };
  const std::vector<HfWeight> map = hf_weight_map(model);
  std::vector<TensorEntry> tensors;
  std::map<std::string, Source> sources;
  for (const HfWeight& weight : map) {
    std::int64_t row = 0;
    for (const HfRows& rows : weight.parts) {
      const HfPlace& place = rows.places.front();
      tensors.push_back({place.tensor, how.type, place.shape, 0, 0});
      sources[place.tensor] = {&weight, &rows, row};
      row += rows.rows;
    }
  }
  const HfWeight* current = nullptr;
  std::vector<float> whole;
  write_weight_folder(folder, std::move(tensors), how.shard_bytes,
                      [&](const TensorEntry& t, std::span<std::byte> out) {
                        const Source& source = sources.at(t.name);
                        if (source.weight != current) {
                          current = source.weight;
                          whole.assign(static_cast<std::size_t>(current->elements()), 0.0F);
                          read(current->name, whole);
                        }
                        const auto columns = static_cast<std::size_t>(current->columns);
                        const auto rows = static_cast<std::size_t>(source.rows->rows);
                        const auto first = static_cast<std::size_t>(source.first_row) * columns;
                        const std::span<const float> values(whole);
                        from_f32(how.type, values.subspan(first, rows * columns), out);
                      });
}

}  // namespace pleat
