// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/keyed_import.hpp"

#include <fmt/format.h>

#include "core/json/parse.hpp"
#include "interop/flag_table.hpp"
#include "interop/toml_text.hpp"
#include "interop/yaml_text.hpp"

namespace pleat::interop {
namespace {

const char* name_of_format(KeyedFormat format) {
  switch (format) {
    case KeyedFormat::torchtitan:
      return "torchtitan";
    case KeyedFormat::deepspeed:
      return "deepspeed";
    case KeyedFormat::nemo:
      return "nemo";
  }
  return "";
}

const char* hint_of(KeyedFormat format) {
  switch (format) {
    case KeyedFormat::torchtitan:
      return "config.toml, or a file with the arguments of torchtitan.train";
    case KeyedFormat::deepspeed:
      return "ds_config.json";
    case KeyedFormat::nemo:
      return "YAML of NeMo-Run, or megatron_gpt_config.yaml with model and trainer";
  }
  return "";
}

// OmegaConf's ${a.b}, ${.b} of the same section and ${multiply:a, b}, where they end in a value.
class Interpolation {
 public:
  explicit Interpolation(const JsonValue& tree) : tree_(tree) {}

  JsonValue resolve(const JsonValue& value, const std::string& section, int depth = 0) const {
    if (const std::string* const text = value.as_string())
      return text->find("${") == std::string::npos ? value : JsonValue(word(*text, section, depth));
    if (value.is_array()) {
      JsonValue list = JsonValue::array();
      for (const JsonValue& item : value.items()) list.push_back(resolve(item, section, depth));
      return list;
    }
    if (!value.is_object()) return value;
    JsonValue object = JsonValue::object();
    for (const JsonMember& m : value.members())
      object.set(m.key,
                 resolve(m.value, m.value.is_object() ? section + m.key + "." : section, depth));
    return object;
  }

 private:
  [[nodiscard]] std::string word(const std::string& text, const std::string& section,
                                 int depth) const {
    std::string inner = text;
    if (depth > 8 || !inner.starts_with("${") || !inner.ends_with('}')) return text;
    inner = inner.substr(2, inner.size() - 3);
    if (inner.starts_with("multiply:")) {
      const std::size_t comma = inner.find(',');
      if (comma == std::string::npos) return text;
      const auto factor = [&](std::string part) -> std::int64_t {
        part.erase(0, part.find_first_not_of(' '));
        part = word(part, section, depth + 1);
        const bool digits = !part.empty() && part.size() < 10 &&
                            part.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::stoll(part) : 0;
      };
      const std::int64_t product =
          factor(inner.substr(9, comma - 9)) * factor(inner.substr(comma + 1));
      return product > 0 ? std::to_string(product) : text;
    }
    std::string path = inner.starts_with('.') ? section + inner.substr(1) : inner;
    if (path.starts_with("training.")) path.erase(0, 9);  // as the launcher of NeMo nests it
    const JsonValue* at = &tree_;
    for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      at = at->find(path.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string* const found = at == nullptr ? nullptr : at->as_string();
    return found == nullptr ? text : word(*found, section, depth + 1);
  }

  const JsonValue& tree_;
};

// NeMo's keys that have a flag's name have its fate; of flags that are read, and were not asked
// for here, nothing uses what they say.
UnreadTable with_flags(UnreadTable fates) {
  const UnreadTable effects = load_unread(kUnreadMegatronFlags);
  for (const auto& [name, flag] : load_flag_table().flags) {
    const auto effect = effects.find(name);
    Unread fate;
    if (effect != effects.end())
      fate = {effect->second.effect, effect->second.why, flag.type == FlagType::off ? "true" : ""};
    for (const char* section :
         {"model.", "model.config.", "trainer.strategy.", "trainer.strategy.ddp.",
          "trainer.plugins.", "trainer.callbacks.", "optim.config.", "model.optim."})
      fates.emplace(section + flag.dest, fate);
  }
  return fates;
}

}  // namespace

JsonValue read_keys(KeyedFormat format, const std::string& text, const std::string& where) {
  JsonValue tree;
  switch (format) {
    case KeyedFormat::torchtitan:
      tree = where.ends_with(".toml") ? read_toml(text, where) : titan_arguments(text);
      break;
    case KeyedFormat::deepspeed:
      tree = as_text(parse_json(text, where));
      break;
    case KeyedFormat::nemo: {
      const JsonValue raw = read_yaml(text, where);
      tree = Interpolation(raw).resolve(raw, "");
      break;
    }
  }
  if (tree.is_object() && !tree.members().empty()) return tree;
  throw_config_error(ExitCode::bad_file, where, "",
                     std::string("has no key of ") + name_of_format(format), hint_of(format));
}

std::vector<std::string> unread_lines(KeyedFormat format, const KeyReader& r,
                                      Diagnostics& problems) {
  UnreadTable fates = load_unread(std::string("unread_keys/") + name_of_format(format));
  if (format == KeyedFormat::nemo) fates = with_flags(std::move(fates));
  return judge_keys(r.tree(), r.asked(), fates, r.where(), problems);
}

KeyedRun import_keys(KeyedFormat format, const std::string& text, const ImportChoices& choices,
                     const std::string& where) {
  const JsonValue tree = read_keys(format, text, where);
  Diagnostics problems;
  const KeyReader r(tree, where, problems);
  KeyedRun out;
  switch (format) {
    case KeyedFormat::torchtitan:
      out.run = import_titan(r, choices);
      break;
    case KeyedFormat::deepspeed:
      out.run = import_deepspeed(r, choices);
      break;
    case KeyedFormat::nemo:
      out.run = import_nemo(r, choices);
      break;
  }
  out.unpriced = unread_lines(format, r, problems);
  problems.throw_if_errors();
  out.run.document.runtime = Runtime::megatron;
  // The limits of a plan file hold here too.
  static_cast<void>(read_plan_document(write_plan_document(out.run.document), where));
  return out;
}

}  // namespace pleat::interop
