// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/megatron_vocabulary.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pleat::interop {
namespace {

struct NamedTokens {
  std::string_view part;  // of the tokenizer's name, in lower case; the first that fits counts
  std::int64_t tokens;
};

// vocab_size of config.json in the repository of that name on Hugging Face, which is the size of
// the model's table; nemotron_2_256k is a file of Nemotron-4's tokenizer. Those of DeepSeek, Qwen
// and Kimi are larger than what the tokenizer counts; --make-vocab-size-divisible-by brings it
// there.
constexpr auto kNames = std::to_array<NamedTokens>({
    {"deepseek-v4", 129280},  {"deepseekv3", 129280},   {"deepseek-v3", 129280},
    {"deepseek-r1", 129280},  {"deepseek-v2", 102400},  {"deepseekv2", 102400},
    {"deepseek-moe", 102400}, {"deepseek-llm", 102400}, {"qwen3.5", 248320},
    {"qwen3-next", 151936},   {"qwen3", 151936},        {"qwen2.5-72b", 152064},
    {"qwen2", 151936},        {"qwen1.5", 151936},      {"llama-4", 202048},
    {"llama4", 202048},       {"llama-3", 128256},      {"llama3", 128256},
    {"llama-2", 32000},       {"llama2", 32000},        {"mixtral-8x22b-instruct", 32768},
    {"mixtral", 32000},       {"mistral-nemo", 131072}, {"mistral", 32000},
    {"moonlight", 163842},    {"kimi", 163840},         {"gpt-oss", 201088},
    {"gpt2", 50257},          {"glm-4.5", 151552},      {"olmoe", 50304},
    {"phi-3.5-moe", 32064},   {"nemotron-h", 131072},   {"nemotron-3", 131072},
    {"nemotron-4", 256000},   {"nemotron4", 256000},    {"nemotron_2_256k", 256000},
});

// Megatron-LM's own (megatron/training/tokenizer): GPT-2's pairs, BERT's pieces, and the default
// size of TikToken's table.
constexpr std::int64_t kGpt2 = 50257, kBertCased = 28996, kBertUncased = 30522;
constexpr std::int64_t kTikToken = 131072;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::optional<KnownVocabulary> by_name(const char* member, const std::string& name) {
  const std::string text = lower(name);
  for (const NamedTokens& n : kNames)
    if (text.find(n.part) != std::string::npos)
      return KnownVocabulary{n.tokens, std::string(member) + " " + name};
  return std::nullopt;
}

}  // namespace

std::optional<KnownVocabulary> tokenizer_vocabulary(const ArgumentReader& r) {
  const std::string type = r.text("tokenizer_type").value_or("");
  const std::string model = r.text("tokenizer_model").value_or("");
  const auto is = [&](std::int64_t tokens) {
    return KnownVocabulary{tokens, "tokenizer_type " + type};
  };
  if (!model.empty())
    if (const auto known = by_name("tokenizer_model", model)) return known;
  // Of Pai-Megatron-Patch.
  if (const auto patched = r.text("patch_tokenizer_type"))
    if (const auto known = by_name("patch_tokenizer_type", *patched)) return known;
  if (type == "GPT2BPETokenizer") return is(kGpt2);
  if (type == "TikTokenizer") return is(kTikToken);
  if (type == "BertWordPieceLowerCase") return is(kBertUncased);
  if (type == "BertWordPieceCase") return is(kBertCased);
  if (!type.empty())
    if (const auto known = by_name("tokenizer_type", type)) return known;
  if (r.text("merge_file")) return KnownVocabulary{kGpt2, "GPT-2's pairs, merge_file"};
  if (const auto file = r.text("vocab_file")) {
    const std::string name = lower(*file);
    if (name.find("uncased") != std::string::npos)
      return KnownVocabulary{kBertUncased, "vocab_file " + *file};
    if (name.find("cased") != std::string::npos)
      return KnownVocabulary{kBertCased, "vocab_file " + *file};
  }
  return std::nullopt;
}

}  // namespace pleat::interop
