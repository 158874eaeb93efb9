// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The ids of Hugging Face's tokenizers package for the same files and texts, exactly. The goldens'
// script is make_tokenizer_goldens.py.
#include "backend/data/tokenizer/tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

using testing::HasSubstr;

const std::string kFolder = std::string(PLEAT_SOURCE_DIR) + "/tests/backend/data/tokenizers/";

const JsonValue& golden_texts() {
  static const JsonValue json =
      parse_json(read_text_file(kFolder + "expected.json"), "expected.json");
  return json;
}

std::string text_bytes(const JsonValue& text) {
  if (const JsonValue* plain = text.find("text")) return *plain->as_string();
  const std::string& hex = *text.find("hex")->as_string();
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string in_short(const std::vector<std::int32_t>& ids) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::int32_t id : ids) {
    for (unsigned i = 0; i < 4; ++i)
      hash = (hash ^ (static_cast<std::uint32_t>(id) >> 8 * i & 0xFFU)) * 0x100000001B3;
  }
  return fmt::format("{} {:016x}", ids.size(), hash);
}

std::vector<std::int32_t> listed(const JsonValue& ids) {
  std::vector<std::int32_t> list;
  for (const JsonValue& id : ids.items())
    list.push_back(static_cast<std::int32_t>(*id.as_integer()));
  return list;
}

class Goldens : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<const Tokenizer> tokenizer_ = open_tokenizer(kFolder + GetParam() + ".json");
};

TEST_P(Goldens, IdsAreThoseOfThePackage) {
  const auto& texts = golden_texts().find("texts")->items();
  const auto& ids = golden_texts().find("ids")->find(GetParam())->items();
  ASSERT_EQ(texts.size(), ids.size());
  ASSERT_GE(texts.size(), 60U);
  const auto encoder = tokenizer_->encoder();
  for (int round = 0; round < 2; ++round) {  // the second one finds its words in the cache
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string text = text_bytes(texts[i]);
      std::vector<std::int32_t> got;
      encoder->encode(text, true, got);
      if (const std::string* expected = ids[i].as_string()) {
        EXPECT_EQ(in_short(got), *expected) << "text " << i << ": " << text;
      } else {
        EXPECT_EQ(got, listed(ids[i])) << "text " << i << ": " << text;
      }
    }
  }
}

TEST_P(Goldens, TokensDecodeAsThePackageDecodesThem) {
  const auto& texts = golden_texts().find("texts")->items();
  const auto& decoded = golden_texts().find("decoded")->find(GetParam())->items();
  const auto encoder = tokenizer_->encoder();
  std::size_t which = 0;
  for (const std::size_t i : {2, 14, 15}) {
    std::vector<std::int32_t> ids;
    encoder->encode(text_bytes(texts[i]), false, ids);
    EXPECT_EQ(tokenizer_->decode(ids), *decoded[which++].as_string()) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Goldens,
                         testing::Values("added", "deepseek", "gemma", "gpt2", "llama2", "llama3",
                                         "metaspace", "o200k", "prefix_space", "qwen2", "qwen35",
                                         "starcoder", "unknown_each", "unknown_fused"),
                         [](const auto& info) { return info.param; });

TEST(TokenizerGoldens, EveryFileIsTested) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().filename() == "expected.json") continue;
    ++files;
    EXPECT_NE(golden_texts().find("ids")->find(entry.path().stem().string()), nullptr)
        << entry.path();
  }
  EXPECT_EQ(files, golden_texts().find("ids")->members().size());
  EXPECT_EQ(files, 14U);
}

// A tokenizer of two tokens that puts `ids` around a text.
std::string message_of(const std::string& post_processor) {
  const std::string text = R"({"added_tokens": [{"id": 1, "content": "<s>"}], "post_processor": )" +
                           post_processor +
                           R"(, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})";
  try {
    static_cast<void>(read_tokenizer(text, "tokenizer.json"));
    return "read";
  } catch (const ConfigError& e) {
    return e.what();
  }
}

// They would be rows outside the table of embeddings.
TEST(TokenizerErrors, ATemplateAddsOnlyTokensThatThereAre) {
  const auto with_ids = [](const std::string& ids) {
    return message_of(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
                          {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": )" +
                      ids + "}}}");
  };
  EXPECT_EQ(with_ids("[1]"), "read");
  for (const char* id : {"-1", "4294967296", "1.5", "\"<s>\""}) {
    const std::string message = with_ids(fmt::format("[{}]", id));
    EXPECT_THAT(message,
                HasSubstr(fmt::format("post_processor.special_tokens.<s>: has the id {}", id)));
    EXPECT_THAT(message, HasSubstr("ids from 0 to 16777215"));
  }
  EXPECT_THAT(message_of(R"({"type": "TemplateProcessing", "single": [7]})"),
              HasSubstr("post_processor.single[0]: "));
  EXPECT_THAT(with_ids("[2]"),
              HasSubstr("post_processor: puts token 2 around a text, which the vocabulary does not "
                        "have"));
  EXPECT_THAT(message_of(R"({"type": "BertProcessing", "cls": ["<s>", 1], "sep": ["<s>", -7]})"),
              HasSubstr("post_processor.sep: must be a token and its id"));
}

TEST(ByteTokenizer, TokensAreBytesAndNulEndsADocument) {
  const auto t = open_tokenizer("byte");
  std::vector<std::int32_t> ids{7};
  t->encoder()->encode("a\xff", true, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{7, 97, 255}));
  EXPECT_EQ(t->vocab_size(), 256);
  EXPECT_EQ(t->end_of_document(), 0);
  EXPECT_EQ(t->decode(std::vector<std::int32_t>{104, 105}), "hi");
}

}  // namespace
}  // namespace pleat
