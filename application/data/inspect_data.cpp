// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "application/data/data_commands.hpp"
#include "backend/data/indexed_dataset.hpp"
#include "backend/data/training_data.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/json_value.hpp"

namespace pleat {
namespace {

// Samples whose order takes long enough to say so, and how many a second one core orders.
constexpr std::int64_t kMany = 100'000'000, kOrderedPerSecond = 15'000'000;

struct Counts {
  std::string name, type = "in memory";
  std::int64_t sequences = 0, documents = 0, tokens = 0, shortest = 0, longest = 0;
};

Counts counts_of(const Documents& d) {
  Counts c;
  c.name = d.name();
  const auto lengths = d.lengths();
  c.sequences = c.documents = static_cast<std::int64_t>(lengths.size());
  for (const std::int32_t length : lengths) c.tokens += length;
  if (!lengths.empty()) {
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    c.shortest = *least;
    c.longest = *most;
  }
  if (const auto* indexed = dynamic_cast<const IndexedDataset*>(&d)) {
    c.type = name_of(indexed->type());
    c.documents = indexed->documents();
  }
  return c;
}

std::string text_of(const Counts& c) {
  return fmt::format(
      "{}: {} documents, {} sequences, {} tokens ({})\nlengths: {} to {}, {:.1f} on average\n",
      c.name, format_count(c.documents), format_count(c.sequences), format_count(c.tokens), c.type,
      format_count(c.shortest), format_count(c.longest),
      c.sequences == 0 ? 0 : static_cast<double>(c.tokens) / static_cast<double>(c.sequences));
}

JsonValue json_of(const Counts& c) {
  JsonValue json = JsonValue::object();
  json.set("name", c.name)
      .set("type", c.type)
      .set("documents", c.documents)
      .set("sequences", c.sequences);
  json.set("tokens", c.tokens).set("shortest", c.shortest).set("longest", c.longest);
  return json;
}

std::string list_of(const std::vector<std::int32_t>& tokens, std::int64_t most) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size() && static_cast<std::int64_t>(i) < most; ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(tokens[i]);
  }
  return text + (static_cast<std::int64_t>(tokens.size()) > most ? " ..." : "");
}

// Control characters would be obeyed by the terminal.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    }
  }
  return out;
}

DataSplit split_of(const std::string& word) {
  return word == "train" ? DataSplit::train : word == "valid" ? DataSplit::valid : DataSplit::test;
}

std::string pieces_of(const SampleSource& source, std::int64_t sample) {
  if (const auto* blend = dynamic_cast<const BlendedSamples*>(&source)) {
    const auto& part = blend->parts()[static_cast<std::size_t>(blend->order().part(sample))];
    return fmt::format("{}: {}", part->name(),
                       pieces_of(*part, blend->order().sample_of_part(sample)));
  }
  const auto* ordered = dynamic_cast<const OrderedSamples*>(&source);
  if (ordered == nullptr) return "";
  std::string text;
  for (const Piece& p : ordered->order().pieces(sample)) {
    text += fmt::format("{}{}[{}:{}]", text.empty() ? "" : " ", p.document, p.offset,
                        p.offset + p.length);
  }
  return text;
}

// The first samples as pieces "document[from:to]", then one of them as tokens.
void show_order(const InspectDataOptions& o, const SampleSource& source, const Tokenizer* tokenizer,
                JsonValue& json, std::string& text) {
  JsonValue first = JsonValue::array();
  text += fmt::format("\n{} of {}: {} samples of {} tokens, seed {}\n", o.part, o.split,
                      format_count(source.size()), format_count(o.seq_len), o.seed);
  if (const auto* ordered = dynamic_cast<const OrderedSamples*>(&source)) {
    text += fmt::format("{} epochs{}\n", ordered->order().epochs(),
                        ordered->order().last_epoch_apart() ? ", the last one shuffled apart" : "");
    json.set("epochs", ordered->order().epochs())
        .set("last_epoch_apart", ordered->order().last_epoch_apart());
  }
  for (std::int64_t s = 0; s < std::min<std::int64_t>(8, source.size()); ++s) {
    first.push_back(pieces_of(source, s));
    text += fmt::format("  sample {}: {}\n", s, pieces_of(source, s));
  }
  if (o.sample >= source.size()) {
    throw_config_error(ExitCode::bad_request, "--sample", "",
                       fmt::format("there are {} samples", source.size()),
                       fmt::format("0 to {}", source.size() - 1));
  }
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(o.seq_len) + 1);
  source.read(o.sample, tokens);
  text += fmt::format("sample {}: {}\n", o.sample, list_of(tokens, o.show));
  if (o.json) {  // a long sample takes much more memory there than its tokens
    JsonValue ids = JsonValue::array();
    for (const std::int32_t t : tokens) ids.push_back(t);
    json.set("samples", source.size())
        .set("first_samples", first)
        .set("sample", o.sample)
        .set("tokens_of_sample", std::move(ids));
  }
  if (tokenizer == nullptr) return;
  if (o.json) json.set("text_of_sample", tokenizer->decode(tokens));
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(o.show)));
  text += fmt::format("as text: {}\n", printable(tokenizer->decode(tokens)));
}

void show_beginning(const InspectDataOptions& o, const Documents& documents,
                    const Tokenizer* tokenizer, JsonValue& json, std::string& text) {
  if (documents.lengths().empty()) return;
  std::vector<std::int32_t> tokens(
      static_cast<std::size_t>(std::min<std::int64_t>(o.show, documents.lengths()[0])));
  documents.read(0, 0, tokens);
  text += fmt::format("sequence 0: {}\n", list_of(tokens, o.show));
  if (tokenizer == nullptr) return;
  text += fmt::format("as text: {}\n", printable(tokenizer->decode(tokens)));
  json.set("text", tokenizer->decode(tokens));
}

}  // namespace

void inspect_data(const InspectDataOptions& o) {
  const auto tokenizer = open_tokenizer(o.tokenizer.empty() ? "byte" : o.tokenizer);
  std::vector<WeightedDocuments> list;
  JsonValue datasets = JsonValue::array(), json = JsonValue::object();
  std::string text;
  bool has_text = !o.tokenizer.empty();  // an indexed dataset does not say what its numbers mean
  for (const BlendPart& part : parse_blend(o.source)) {
    list.push_back({open_documents(part.source, *tokenizer, tokenizer->end_of_document(),
                                   cache_directory(), 0),
                    part.weight});
    const Counts counts = counts_of(*list.back().documents);
    has_text = has_text || counts.type == "in memory";
    datasets.push_back(json_of(counts));
    text += text_of(counts);
  }
  json.set("datasets", datasets);
  const Tokenizer* const words = has_text ? tokenizer.get() : nullptr;
  if (o.seq_len == 0) {
    show_beginning(o, *list.front().documents, words, json, text);
  } else {
    if (o.samples > kMany)
      note(fmt::format("ordering {} samples: that takes about {} s", format_count(o.samples),
                       o.samples / kOrderedPerSecond));
    const auto source = order_samples(
        list, {parse_split(o.split), split_of(o.part), o.seq_len,
               std::max<std::int64_t>(1, o.samples), static_cast<std::uint32_t>(o.seed)});
    show_order(o, *source, words, json, text);
  }
  print(o.json ? json.dump() + "\n" : text);
}

}  // namespace pleat
