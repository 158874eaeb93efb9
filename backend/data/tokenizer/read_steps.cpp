// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/tokenizer/read_steps.hpp"

#include <fmt/format.h>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// The members of a Sequence, under whichever name they are, else the section itself.
template <class Read>
void for_each_step(const JsonValue& value, const std::string& path, ReaderContext context,
                   const char* members, Read read) {
  if (value.is_null()) return;
  ObjectReader r(value, path, context);
  const std::string type = r.text("type");
  if (!r.is_object() || type.empty()) return;
  if (type != "Sequence") return read(r, type);
  const JsonValue::Array& list = r.array(members);
  for (std::size_t i = 0; i < list.size(); ++i) {
    for_each_step(list[i], fmt::format("{}.{}[{}]", path, members, i), context, members, read);
  }
}

// {"Regex": "…"} or {"String": "…"}; nothing after a problem.
std::optional<Regex> read_pattern(ObjectReader& r, const std::string& key = "pattern") {
  ObjectReader pattern = r.object(key);
  if (!pattern.is_object()) return std::nullopt;
  if (const auto text = pattern.optional_text("String")) {
    if (text->empty()) {
      pattern.problem("String", "is empty");
      return std::nullopt;
    }
    return Regex::literal(*text);
  }
  const std::string regex = pattern.text("Regex");
  if (regex.empty()) return std::nullopt;
  return Regex(regex, r.context().file_name, pattern.path_of("Regex"));
}

SplitBehavior read_behavior(ObjectReader& r) {
  return static_cast<SplitBehavior>(r.choice(
      "behavior", {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}));
}

// GPT-2's words: English contractions, letters, digits or other characters with a space before
// them, white space. radford et al. 2019, as ByteLevel has it built in.
constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Metaspace read_metaspace(ObjectReader& r) {
  Metaspace m;
  m.replacement = r.text("replacement");
  if (const auto scheme = r.optional_choice("prepend_scheme", {"always", "first", "never"})) {
    m.prepend = static_cast<Metaspace::Prepend>(*scheme);
  } else if (r.optional_boolean("add_prefix_space") == false) {  // files before prepend_scheme
    m.prepend = Metaspace::Prepend::never;
  }
  m.split = r.optional_boolean("split").value_or(true);
  if (m.replacement.empty() || decode_utf8(m.replacement, 0).bytes != m.replacement.size())
    r.problem("replacement", "must be one character");
  return m;
}

}  // namespace

void read_normalizer(const JsonValue& value, const std::string& path, ReaderContext context,
                     BpeTokenizerSpec& spec) {
  for_each_step(value, path, context, "normalizers", [&](ObjectReader& r, const std::string& type) {
    auto& steps = spec.normalizer;
    if (type == "NFC") {
      steps.emplace_back(NormalForm::nfc);
    } else if (type == "NFD") {
      steps.emplace_back(NormalForm::nfd);
    } else if (type == "NFKC") {
      steps.emplace_back(NormalForm::nfkc);
    } else if (type == "NFKD") {
      steps.emplace_back(NormalForm::nfkd);
    } else if (type == "Lowercase") {
      steps.emplace_back(LowerCase{});
    } else if (type == "StripAccents") {
      steps.emplace_back(StripAccents{});
    } else if (type == "Strip") {
      steps.emplace_back(StripEnds{r.boolean("strip_left"), r.boolean("strip_right")});
    } else if (type == "Prepend") {
      steps.emplace_back(Prepend{r.text("prepend")});
    } else if (type == "Replace") {
      const auto pattern = read_pattern(r);
      const std::string content = r.text("content");
      if (pattern) steps.emplace_back(Replace{*pattern, content});
    } else {
      r.problem("type", fmt::format("normalizer '{}' is not supported", type),
                "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Sequence");
    }
  });
}

void read_pre_tokenizer(const JsonValue& value, const std::string& path, ReaderContext context,
                        BpeTokenizerSpec& spec) {
  for_each_step(
      value, path, context, "pretokenizers", [&](ObjectReader& r, const std::string& type) {
        auto& steps = spec.pre_tokenizer;
        if (spec.byte_level) {
          r.problem("type", fmt::format("'{}' after ByteLevel is not supported", type),
                    "ByteLevel last");
        } else if (type == "ByteLevel") {
          spec.byte_level = true;
          if (r.boolean("add_prefix_space")) steps.emplace_back(AddPrefixSpace{});
          if (r.optional_boolean("use_regex").value_or(true)) {
            steps.emplace_back(
                Split{Regex(kGpt2Words, r.context().file_name, r.path_of("type")), {}, false});
            std::get<Split>(steps.back()).behavior = SplitBehavior::isolated;
          }
        } else if (type == "Split") {
          const auto pattern = read_pattern(r);
          const SplitBehavior behavior = read_behavior(r);
          const bool invert = r.optional_boolean("invert").value_or(false);
          if (pattern) steps.emplace_back(Split{*pattern, behavior, invert});
        } else if (type == "Digits") {
          steps.emplace_back(SplitDigits{r.optional_boolean("individual_digits").value_or(false)});
        } else if (type == "Whitespace" || type == "WhitespaceSplit") {
          steps.emplace_back(SplitWhitespace{type == "Whitespace"});
        } else if (type == "Punctuation") {
          steps.emplace_back(
              SplitPunctuation{r.has("behavior") ? read_behavior(r) : SplitBehavior::isolated});
        } else if (type == "Metaspace") {
          steps.emplace_back(read_metaspace(r));
        } else {
          r.problem("type", fmt::format("pre-tokenizer '{}' is not supported", type),
                    "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, "
                    "Metaspace, Sequence");
        }
      });
}

namespace {

// An id that a template puts around a text. Whether there is such a token is seen when all is read.
std::optional<std::int32_t> template_id(const JsonValue& value) {
  const std::int64_t* const id = value.as_integer();
  if (id == nullptr || *id < 0 || *id >= kMostTokens) return std::nullopt;
  return static_cast<std::int32_t>(*id);
}

}  // namespace

void read_post_processor(const JsonValue& value, const std::string& path, ReaderContext context,
                         BpeTokenizerSpec& spec) {
  for_each_step(value, path, context, "processors", [&](ObjectReader& r, const std::string& type) {
    if (type == "ByteLevel") return;  // only changes offsets
    if (type == "RobertaProcessing" || type == "BertProcessing") {
      for (const char* end : {"cls", "sep"}) {
        const JsonValue::Array& pair = r.array(end);
        const auto id = pair.size() == 2 ? template_id(pair[1]) : std::nullopt;
        if (!id)
          return r.problem(end, "must be a token and its id",
                           fmt::format("an id from 0 to {}", kMostTokens - 1));
        (end == std::string("cls") ? spec.before : spec.after).push_back(*id);
      }
      return;
    }
    if (type != "TemplateProcessing") {
      return r.problem(
          "type", fmt::format("post-processor '{}' is not supported", type),
          "TemplateProcessing, ByteLevel, RobertaProcessing, BertProcessing, Sequence");
    }
    bool seen_text = false;
    ObjectReader specials = r.object("special_tokens");
    r.each_object("single", [&](ObjectReader step) {
      if (step.has("Sequence")) {
        seen_text = true;
        return;
      }
      const std::string token = step.object("SpecialToken").text("id");
      const JsonValue* const known = specials.find(token);
      const JsonValue* const ids = known == nullptr ? nullptr : known->find("ids");
      if (ids == nullptr || !ids->is_array()) {
        specials.problem(token, "is used in the template and not defined");
        return;
      }
      for (const JsonValue& number : ids->items()) {
        if (const auto id = template_id(number))
          (seen_text ? spec.after : spec.before).push_back(*id);
        else
          specials.problem(token, fmt::format("has the id {}", number.brief()),
                           fmt::format("ids from 0 to {}", kMostTokens - 1));
      }
    });
  });
}

void read_decoder(const JsonValue& value, const std::string& path, ReaderContext context,
                  BpeTokenizerSpec& spec) {
  for_each_step(value, path, context, "decoders", [&](ObjectReader& r, const std::string& type) {
    auto& steps = spec.decoder;
    if (type == "ByteLevel") {
      steps.emplace_back(DecodeByteLevel{});
    } else if (type == "ByteFallback") {
      steps.emplace_back(DecodeByteFallback{});
    } else if (type == "Fuse") {
      steps.emplace_back(DecodeFuse{});
    } else if (type == "Replace") {
      ObjectReader pattern = r.object("pattern");
      if (const auto from = pattern.optional_text("String"))
        steps.emplace_back(DecodeReplace{*from, r.text("content")});
    } else if (type == "Strip") {
      steps.emplace_back(DecodeStrip{r.text("content"),
                                     static_cast<int>(r.integer("start", {0, 1000})),
                                     static_cast<int>(r.integer("stop", {0, 1000}))});
    } else if (type == "Metaspace") {
      const Metaspace m = read_metaspace(r);
      steps.emplace_back(DecodeMetaspace{m.replacement, m.prepend != Metaspace::Prepend::never});
    }
  });
}

}  // namespace pleat
