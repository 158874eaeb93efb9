// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Hugging Face's tokenizer.json: the model, the added tokens, and what stands beside them.
#include <fmt/format.h>

#include <filesystem>

#include "backend/data/tokenizer/bpe_tokenizer.hpp"
#include "backend/data/tokenizer/read_steps.hpp"
#include "core/diagnostics.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTokenizerBytes = std::size_t{128} << 20;
constexpr IntRange kIds{0, kMostTokens - 1};

// "a b", or since 2024 ["a", "b"].
void read_merges(ObjectReader& model, BpeSpec& spec) {
  for (const JsonValue& item : model.array("merges")) {
    const std::string here = fmt::format("merges[{}]", spec.merges.size());
    if (const std::string* text = item.as_string()) {
      const std::size_t space = text->find(' ');
      if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos) {
        return model.problem(here, fmt::format("'{}' is not two tokens and a space", *text));
      }
      spec.merges.emplace_back(text->substr(0, space), text->substr(space + 1));
      continue;
    }
    const JsonValue::Array& pair = item.items();
    const std::string* const left = pair.size() == 2 ? pair[0].as_string() : nullptr;
    const std::string* const right = pair.size() == 2 ? pair[1].as_string() : nullptr;
    if (left == nullptr || right == nullptr) {
      return model.problem(here, "must be two tokens", R"("a b" or ["a", "b"])");
    }
    spec.merges.emplace_back(*left, *right);
  }
}

void read_model(ObjectReader model, BpeSpec& spec) {
  if (!model.is_object()) return;
  const std::string type = model.optional_text("type").value_or("BPE");
  if (type != "BPE") {
    return model.problem("type", fmt::format("'{}' is not supported", type), "a BPE tokenizer");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.optional_text(affix).value_or("").empty())
      model.problem(affix, "is not supported", "a tokenizer without it");
  }
  if (model.optional_number("dropout").value_or(0) != 0) {
    model.problem("dropout", "random merges are not supported", "0 or null");
  }
  spec.unknown = model.optional_text("unk_token").value_or("");
  spec.fuse_unknown = model.optional_boolean("fuse_unk").value_or(false);
  spec.byte_fallback = model.optional_boolean("byte_fallback").value_or(false);
  spec.ignore_merges = model.optional_boolean("ignore_merges").value_or(false);
  ObjectReader vocab = model.object("vocab");
  for (const JsonMember& m : vocab.members()) {
    const std::int64_t* const id = m.value.as_integer();
    if (id == nullptr || *id < kIds.min || *id > kIds.max) {
      return vocab.problem(m.key,
                           fmt::format("must be a number from {} to {}", kIds.min, kIds.max));
    }
    spec.vocab.emplace_back(m.key, static_cast<std::int32_t>(*id));
  }
  if (spec.vocab.empty()) model.problem("vocab", "is empty");
  read_merges(model, spec);
}

void read_added(ObjectReader& root, std::vector<AddedToken>& added) {
  root.each_optional_object("added_tokens", [&](ObjectReader r) {
    AddedToken t;
    t.content = r.text("content");
    t.id = static_cast<std::int32_t>(r.integer("id", kIds));
    t.special = r.optional_boolean("special").value_or(false);
    t.single_word = r.optional_boolean("single_word").value_or(false);
    t.lstrip = r.optional_boolean("lstrip").value_or(false);
    t.rstrip = r.optional_boolean("rstrip").value_or(false);
    t.normalized = r.optional_boolean("normalized").value_or(!t.special);
    added.push_back(std::move(t));
  });
}

// tokenizer_config.json beside the file names the end of a document, as text or as an added token.
std::optional<std::string> read_end_of_document(const fs::path& tokenizer) {
  const fs::path path = tokenizer.parent_path() / "tokenizer_config.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const JsonValue config =
      parse_json(read_text_file(path.string()), path.string(), {.allow_non_finite = true});
  const JsonValue* token = config.find("eos_token");
  if (token != nullptr && token->is_object()) token = token->find("content");
  const std::string* const text = token == nullptr ? nullptr : token->as_string();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

}  // namespace

std::unique_ptr<const Tokenizer> read_tokenizer(const std::string& text,
                                                const std::string& file_name,
                                                std::optional<std::string> end_of_document) {
  const JsonValue json = parse_json(text, file_name, {.max_bytes = kMaxTokenizerBytes});
  Diagnostics problems;
  const ReaderContext context{file_name, problems};
  ObjectReader root(json, "", context);
  BpeTokenizerSpec spec;
  const auto section = [&](const char* name, auto read) {
    if (const JsonValue* value = root.find(name)) read(*value, name, context, spec);
  };
  section("normalizer", read_normalizer);
  section("pre_tokenizer", read_pre_tokenizer);
  section("post_processor", read_post_processor);
  section("decoder", read_decoder);
  read_added(root, spec.added);
  read_model(root.object("model"), spec.model);
  problems.throw_if_errors();
  spec.end_of_document = std::move(end_of_document);
  return std::make_unique<BpeTokenizer>(std::move(spec), file_name);
}

std::unique_ptr<const Tokenizer> open_tokenizer(const std::string& source) {
  if (source == "byte") return byte_tokenizer();
  fs::path path = source;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path /= "tokenizer.json";
  const std::string text = read_text_file(path.string(), kMaxTokenizerBytes);
  return read_tokenizer(text, path.string(), read_end_of_document(path));
}

}  // namespace pleat
