// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/yaml_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

// Anchors make a small text a large tree, so the tree is bounded.
constexpr int kMostDepth = 60;
constexpr int kMostValues = 100'000;

class Converter {
 public:
  explicit Converter(const std::string& where) : where_(where) {}

  JsonValue convert(const YAML::Node& node, int depth = 0) {
    if (depth > kMostDepth) refuse(node.Mark(), "nested too deeply");
    if (++values_ > kMostValues) refuse(node.Mark(), "has too many values");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return node.IsDefined() ? JsonValue("") : JsonValue();
      case YAML::NodeType::Scalar: return JsonValue(node.Scalar());
      case YAML::NodeType::Sequence: {
        JsonValue list = JsonValue::array();
        for (const YAML::Node& item : node) list.push_back(convert(item, depth + 1));
        return list;
      }
      case YAML::NodeType::Map: {
        JsonValue object = JsonValue::object();
        for (const auto& member : node) {
          if (!member.first.IsScalar()) refuse(member.first.Mark(), "a key is no text");
          object.set(member.first.Scalar(), convert(member.second, depth + 1));
        }
        return object;
      }
    }
    return {};
  }

  [[noreturn]] void refuse(const YAML::Mark& at, const std::string& why) const {
    throw_config_error(ExitCode::bad_file,
                       at.is_null() ? where_ : fmt::format("{}:{}", where_, at.line + 1), "", why,
                       "flags and values, one a line: --num-layers: 32");
  }

 private:
  const std::string& where_;
  int values_ = 0;
};

}  // namespace

JsonValue read_yaml(const std::string& text, const std::string& where) {
  Converter to_json(where);
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsNull() ? JsonValue::object() : to_json.convert(root);
  } catch (const YAML::Exception& e) {
    to_json.refuse(e.mark, e.msg);
  }
}

}  // namespace pleat::interop
