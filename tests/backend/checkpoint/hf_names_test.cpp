// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The tensors of an export are those that transformers saves for the same config.json: every name
// and shape, no more and no fewer. tests/reference/saved_names.py wrote what transformers saves.
#include <gtest/gtest.h>

#include <filesystem>

#include "backend/checkpoint/hf_weight_map.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes saved_by_transformers(const JsonValue& document) {
  Shapes shapes;
  for (const JsonMember& tensor : document.find("tensors")->members()) {
    for (const JsonValue& size : tensor.value.items()) {
      shapes[tensor.key].push_back(*size.as_integer());
    }
  }
  return shapes;
}

Shapes written_by_us(const ModelSpec& model) {
  Shapes shapes;
  for (const HfWeight& weight : hf_weight_map(model)) {
    for (const HfRows& rows : weight.parts) {
      const auto [place, is_new] = shapes.try_emplace(rows.places[0].tensor, rows.places[0].shape);
      EXPECT_TRUE(is_new || place->second == rows.places[0].shape) << rows.places[0].tensor;
    }
  }
  return shapes;
}

TEST(HfNames, AreThoseOfTransformers) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLEAT_SOURCE_DIR "/tests/reference/saved_names")) {
    SCOPED_TRACE(entry.path().filename().string());
    const JsonValue document =
        parse_json(read_text_file(entry.path().string()), entry.path().string());
    const HfImport import = read_hf_config(document.find("config")->dump(), "config.json", "small");
    EXPECT_EQ(written_by_us(import.model), saved_by_transformers(document));
    ++files;
  }
  EXPECT_EQ(files, 32);
}

}  // namespace
}  // namespace pleat
